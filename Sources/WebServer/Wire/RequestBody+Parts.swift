import HTTPTypes
import Hummingbird
import NIOCore

extension RequestBody {
    /// Each part in its turn. What is no body as HTTP/1.1 writes it (chunks without a length, for example) is the
    /// client's fault, and told so.
    func forEachPart(_ take: (ByteBuffer) throws -> Void) async throws {
        var parts = makeAsyncIterator()
        while true {
            let part: ByteBuffer?
            do {
                part = try await parts.next()
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                throw HTTPProblem(
                    .badRequest, "malformedBody", "The body is not as HTTP/1.1 writes one: it could not be read.",
                    headers: [.connection: "close"])
            }
            guard let part else { return }
            try take(part)
        }
    }
}
