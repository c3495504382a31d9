import HTTPTypes
import Hummingbird
import NIOCore
import Store
import TrackerCore
import TrackerService

/// Executes a write once per `Idempotency-Key`.
enum IdempotentWrite {
    /// Performs a write, or returns the stored response of an earlier request with the same idempotency key.
    /// - Parameters:
    ///   - givenKey: the idempotency key; if `nil`, that of the request's header.
    ///   - content: the body or its hash, to detect another request with the same key.
    static func answer(
        _ call: APICall, _ recording: IdempotentExecution.Recording, key givenKey: String? = nil, content: [UInt8],
        _ perform: @Sendable (TrackerAPI) async throws -> APIResponse
    ) async throws -> APIResponse {
        let tracker = try call.tracker()
        guard let key = try givenKey ?? key(of: call.request) else { return try await perform(tracker) }
        // The access is part of the request, so that a caller with less access does not get the stored response.
        let access = call.mayReadAddresses ? "" : call.mayReadWaterline ? " with Waterline" : " limited"
        let execution = IdempotentExecution(
            IdempotentRequest(
                key: key,
                content: Array("\(call.request.method.rawValue) \(call.request.head.path ?? "") ".utf8) + content
                    + access.utf8,
                at: tracker.now),
            on: tracker, recording, keyName: "Idempotency-Key", reusedCode: "idempotencyKeyReused")
        let outcome = try await execution.run(perform) {
            .init(status: $0.status.code, body: Array($0.bytes.readableBytesView))
        }
        switch outcome {
        case .executed(let answer): return answer
        case .repeated(let stored):
            var answer =
                try stored.map { APIResponse(status: .init(code: $0.status), bytes: ByteBuffer(bytes: $0.body)) }
                ?? .json(["state": try tracker.state()])
            answer.headers[.idempotentReplayed] = "true"
            return answer
        }
    }

    /// The idempotency key of a request, if any.
    static func key(of request: Request) throws -> String? {
        guard let key = request.headers[.idempotencyKey] else { return nil }
        // Proxies and programs may encode blanks and other characters differently, which would change the key.
        guard (1...128).contains(key.utf8.count), key.utf8.allSatisfy({ $0 > 32 && $0 < 127 }) else {
            throw WrongInput(
                "idempotencyKey", "An Idempotency-Key must have 1 to 128 visible ASCII characters without blanks.")
        }
        return key
    }
}
