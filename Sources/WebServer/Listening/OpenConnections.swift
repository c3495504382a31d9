import Hummingbird
import HummingbirdCore
import NIOCore
import Synchronization

/// Every connection of one address, and the address itself, so that a server can end without being cancelled: a
/// connection that was accepted and not yet taken up when the serving task is cancelled ends the process (swift-nio's
/// issue 2637).
final class OpenConnections: Sendable {
    /// Between the last connection that is let in and the end of the address: what was let in is taken up meanwhile. A
    /// connection that is on its way when the address ends would end the process, too.
    static let settling = TimeAmount.milliseconds(100)
    /// What is being answered may be finished for so long.
    static let courtesy = TimeAmount.milliseconds(250)

    private struct State {
        var listener: (any Channel)?
        var open: [ObjectIdentifier: any Channel] = [:]
        var isStopping = false
        var peers: PeerPlaces?
    }

    private let state: Mutex<State>

    /// - Parameter peers: how many connections other machines may have; `nil`: as many as there are places.
    init(_ peers: PeerPlaces?) { state = Mutex(State(peers: peers)) }

    var isStopping: Bool { state.withLock { $0.isStopping } }

    /// It listens.
    func opened(_ listener: any Channel) {
        let isLate = state.withLock { state in
            state.listener = listener
            return state.isStopping
        }
        if isLate { Self.shut(listener) {} }
    }

    /// Nobody new is let in; who is being answered is answered to the end, and everybody else goes.
    func stop() {
        let listener = state.withLock { state in
            if state.listener == nil { state.isStopping = true }
            return state.listener
        }
        guard let listener else { return }
        Self.shut(listener) {
            let open = self.state.withLock { state in
                state.isStopping = true
                return Array(state.open.values)
            }
            for channel in open { Self.end(channel) }
        }
    }

    private static func shut(_ listener: any Channel, then: @escaping @Sendable () -> Void) {
        listener.setOption(.autoRead, value: false).whenComplete { _ in
            listener.eventLoop.scheduleTask(in: settling) {
                listener.close(promise: nil)
                then()
            }
        }
    }

    /// - Returns: whether there is a place for it.
    fileprivate func came(_ channel: any Channel) -> Bool {
        let peer = channel.remoteAddress.flatMap(PeerPlaces.name)
        let (hasPlace, isLate) = state.withLock { state in
            guard state.peers?.enter(peer) ?? true else { return (false, state.isStopping) }
            state.open[ObjectIdentifier(channel)] = channel
            return (true, state.isStopping)
        }
        if isLate { Self.end(channel) }
        return hasPlace
    }

    fileprivate func went(_ channel: any Channel) {
        let peer = channel.remoteAddress.flatMap(PeerPlaces.name)
        state.withLock { state in
            if state.open.removeValue(forKey: ObjectIdentifier(channel)) != nil { state.peers?.leave(peer) }
        }
    }

    private static func end(_ channel: any Channel) {
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        channel.eventLoop.scheduleTask(in: courtesy) { channel.close(promise: nil) }
    }

    /// Stands in each connection's pipeline, and tells of it.
    func watch() -> any RemovableChannelHandler { Watch(self) }

    private final class Watch: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = HTTPConnectionStateHandler.InboundIn
        typealias OutboundOut = HTTPConnectionStateHandler.OutboundIn
        private static let refusal = ByteBuffer(
            string:
                #"""
                {"code":"tooManyConnections","detail":"This peer has all the connections that one may have, or \#
                there are too many at all. Close some, or try again in a minute.","status":503,"title":"Service \#
                Unavailable","type":"about:blank"}
                """#
        )
        private let connections: OpenConnections
        private var hasPlace = false

        init(_ connections: OpenConnections) { self.connections = connections }

        func handlerAdded(context: ChannelHandlerContext) { hasPlace = connections.came(context.channel) }

        func channelActive(context: ChannelHandlerContext) {
            context.fireChannelActive()
            guard !hasPlace else { return }
            // Nobody waits whether it is read: who has no place has none for a goodbye, either.
            context.write(
                wrapOutboundOut(
                    .head(
                        HTTPResponse(
                            status: .serviceUnavailable,
                            headerFields: [
                                .connection: "close", .contentLength: "\(Self.refusal.readableBytes)",
                                .contentType: "application/problem+json", .retryAfter: "60",
                            ]))), promise: nil)
            context.write(wrapOutboundOut(.body(Self.refusal)), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            context.close(promise: nil)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            if hasPlace { context.fireChannelRead(data) }
        }

        func channelInactive(context: ChannelHandlerContext) {
            connections.went(context.channel)
            context.fireChannelInactive()
        }

        func handlerRemoved(context: ChannelHandlerContext) { connections.went(context.channel) }
    }
}
