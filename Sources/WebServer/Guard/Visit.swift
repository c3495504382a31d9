import Hummingbird
import NIOCore

/// The context of one request.
struct Visit: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The connection of the request.
    let channel: any Channel
    /// What the caller may do: set by the routes that need a credential.
    var caller = Caller()
    var remote: SocketAddress? { channel.remoteAddress }

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    /// `Ask` reads a body with its own limits.
    var maxUploadSize: Int { Wire.bodyLimit }
}
