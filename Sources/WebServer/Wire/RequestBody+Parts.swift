import HTTPTypes
import Hummingbird
import NIOCore

extension RequestBody {
    /// Passes on each part in order. An invalid HTTP/1.1 body becomes an error response.
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
