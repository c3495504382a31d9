import Hummingbird
import NIOCore

/// The context of a request for Hummingbird's router.
struct WebRequestContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel
    /// The caller. Routes that require a credential set it.
    var caller = Caller()
    var remote: SocketAddress? { channel.remoteAddress }

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    /// `APICall` reads a body with its own limits.
    var maxUploadSize: Int { JSONBody.sizeLimit }
}
