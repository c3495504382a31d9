import HTTPTypes
import Hummingbird
import NIOCore

extension RequestBody {
    /// Calls a closure with each part of the body in order. Invalid HTTP/1.1 framing becomes an error response.
    func forEachPart(_ body: (ByteBuffer) throws -> Void) async throws {
        var parts = makeAsyncIterator()
        while true {
            let part: ByteBuffer?
            do {
                part = try await parts.next()
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                throw HTTPProblem(
                    .badRequest, "malformedBody", "The body is not valid HTTP/1.1, so it could not be read.",
                    headers: [.connection: "close"])
            }
            guard let part else { return }
            try body(part)
        }
    }
}
