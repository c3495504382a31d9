import Hummingbird
import HummingbirdCore
import NIOCore
import NIOHTTPTypes

/// Closes connections that are idle, that do not read their response, or that got a response before their request was
/// complete. In the last case, the response has `Connection: close`, and the rest of the request is not read.
final class ConnectionTimeouts: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPConnectionStateHandler.InboundIn
    typealias InboundOut = HTTPConnectionStateHandler.InboundIn
    typealias OutboundIn = HTTPConnectionStateHandler.OutboundIn
    typealias OutboundOut = HTTPConnectionStateHandler.OutboundIn

    /// The time limit for the head of the first request.
    static let firstRequestLimit = TimeAmount.seconds(10)
    /// The time limit for the client to read available data.
    static let readLimit = TimeAmount.seconds(60)
    /// The time for which a connection stays open after its last response, so that the client can read the response.
    static let closeDelay = TimeAmount.seconds(1)

    /// The time limit of a response after the server was stopped.
    static let stopDelay = TimeAmount.milliseconds(250)

    /// The number of requests that have started, and of those that are complete.
    private var (startedRequests, completeRequests) = (0, 0)
    private var responses = 0
    /// Whether the client has sent `Connection: close`.
    private var isClosing = false
    /// Whether the current response is the last one.
    private var isLast = false
    /// Whether the final response of this connection is complete.
    private var isFinished = false
    private var timer: Scheduled<Void>?

    func handlerAdded(context: ChannelHandlerContext) { startTimer(Self.firstRequestLimit, context) }

    func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            startedRequests += 1
            if startedRequests == 1 { timer?.cancel() }
            if head.headerFields[.connection]?.lowercased() == "close" { isClosing = true }
        case .body: break
        case .end: completeRequests += 1
        }
        guard isFinished else { return context.fireChannelRead(data) }
        // All bytes of the requests have been read.
        if completeRequests >= startedRequests { context.close(promise: nil) }
    }

    /// Handles the stop of the server: the current response may end, and a stream is closed.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            let channel = context.channel
            channel.eventLoop.scheduleTask(in: Self.stopDelay) { channel.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        timer?.cancel()
        if !context.channel.isWritable { startTimer(Self.readLimit, context) }
        context.fireChannelWritabilityChanged()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head) where head.status.kind != .informational:
            responses += 1
            isLast =
                completeRequests < responses || (isClosing && responses == startedRequests)
                || head.headerFields[.connection]?.lowercased() == "close"
            if isLast { head.headerFields[.connection] = "close" }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .end where isLast:
            isFinished = true
            let (channel, written) = (context.channel, promise ?? context.eventLoop.makePromise())
            written.futureResult.whenComplete { _ in
                channel.close(mode: .output, promise: nil)
                channel.eventLoop.scheduleTask(in: Self.closeDelay) { channel.close(promise: nil) }
            }
            context.writeAndFlush(data, promise: written)
        default: context.write(data, promise: promise)
        }
    }

    /// Starts the idle timer, which closes the connection after `limit`.
    private func startTimer(_ limit: TimeAmount, _ context: ChannelHandlerContext) {
        let channel = context.channel
        timer = channel.eventLoop.scheduleTask(in: limit) { channel.close(promise: nil) }
    }
}
