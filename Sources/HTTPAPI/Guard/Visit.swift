import Hummingbird
import NIOCore

/// One request on its way through the server.
struct Visit: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The connection it came on.
    let channel: any Channel
    var remote: SocketAddress? { channel.remoteAddress }
    /// What the caller may do; set at the door.
    var scope: Scope?
    /// What an answer to this caller may say beyond the day: whether the caller sits at this machine.
    var isLocal = false
    /// What the caller was let in by, where it was a token or a cookie.
    var token: String?
    /// Nobody knows who asks: what may be done follows from where the request comes from.
    var isUnnamed = true

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    /// The body of a request is read by `Ask`, with limits of its own.
    var maxUploadSize: Int { Wire.bodyLimit }
}
