import Hummingbird
import NIOCore

/// One request on its way through the server.
struct Visit: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The connection it came on.
    let channel: any Channel
    var remote: SocketAddress? { channel.remoteAddress }
    /// What the caller may do; set at the door.
    var rights = Rights()
    /// What an answer to this caller may say beyond the day: whether the caller sits at this machine.
    var isLocal = false
    /// A browser asks for a page of another origin. It gets no answer to read; what a look brings about must not come
    /// of it either.
    var isOfOtherPage = false
    /// Who asks, as far as tries are counted; empty for who sits at this machine.
    var peer = ""

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    /// The body of a request is read by `Ask`, with limits of its own.
    var maxUploadSize: Int { Wire.bodyLimit }
}
