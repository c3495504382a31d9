import Hummingbird
import HummingbirdCore
import NIOCore

/// Sees to it that a connection has its place only for as long as it is of use: one that asks nothing goes, one that
/// does not take its answer goes, and one that is answered before its request was here whole is told so, and goes soon
/// afterwards, since nobody reads the rest of it.
final class ConnectionTimeouts: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPConnectionStateHandler.InboundIn
    typealias InboundOut = HTTPConnectionStateHandler.InboundIn
    typealias OutboundIn = HTTPConnectionStateHandler.OutboundIn
    typealias OutboundOut = HTTPConnectionStateHandler.OutboundIn

    /// So long may it take until the head of the first request is here.
    static let firstRequest = TimeAmount.seconds(10)
    /// So long a client may take for what lies ready for it.
    static let reading = TimeAmount.seconds(60)
    /// So long a connection stays behind its last answer: whoever still sends has to find it, and a connection that
    /// ends with bytes unread loses it.
    static let lingering = TimeAmount.seconds(1)

    /// How long a response may go on after the server was stopped.
    static let courtesy = TimeAmount.milliseconds(250)

    /// Requests that have begun, and those of them that are here whole.
    private var (begun, whole) = (0, 0)
    private var answered = 0
    /// The client said that it asks nothing more.
    private var isClosing = false
    /// The answer under way is the last one.
    private var isLast = false
    /// It was given.
    private var isOver = false
    private var patience: Scheduled<Void>?

    func handlerAdded(context: ChannelHandlerContext) { expect(Self.firstRequest, context) }

    func handlerRemoved(context: ChannelHandlerContext) { patience?.cancel() }

    func channelInactive(context: ChannelHandlerContext) {
        patience?.cancel()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            begun += 1
            if begun == 1 { patience?.cancel() }
            if head.headerFields[.connection]?.lowercased() == "close" { isClosing = true }
        case .body: break
        case .end: whole += 1
        }
        guard isOver else { return context.fireChannelRead(data) }
        // Now nothing is left unread.
        if whole >= begun { context.close(promise: nil) }
    }

    /// The server stops: the response in progress may end, and a stream is closed.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            let channel = context.channel
            channel.eventLoop.scheduleTask(in: Self.courtesy) { channel.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        patience?.cancel()
        if !context.channel.isWritable { expect(Self.reading, context) }
        context.fireChannelWritabilityChanged()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head) where head.status.kind != .informational:
            answered += 1
            isLast =
                whole < answered || (isClosing && answered == begun)
                || head.headerFields[.connection]?.lowercased() == "close"
            if isLast { head.headerFields[.connection] = "close" }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .end where isLast:
            isOver = true
            let (channel, written) = (context.channel, promise ?? context.eventLoop.makePromise())
            written.futureResult.whenComplete { _ in
                channel.close(mode: .output, promise: nil)
                channel.eventLoop.scheduleTask(in: Self.lingering) { channel.close(promise: nil) }
            }
            context.writeAndFlush(data, promise: written)
        default: context.write(data, promise: promise)
        }
    }

    /// It goes when nothing is heard of it for so long.
    private func expect(_ limit: TimeAmount, _ context: ChannelHandlerContext) {
        let channel = context.channel
        patience = channel.eventLoop.scheduleTask(in: limit) { channel.close(promise: nil) }
    }
}
