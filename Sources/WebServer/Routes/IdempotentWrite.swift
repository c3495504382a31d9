import HTTPTypes
import Hummingbird
import NIOCore
import Store
import Synchronization
import TrackerCore
import TrackerService

/// Executes a write once per idempotency key: a repeated request after a lost response or a restart of the service gets
/// the first response.
enum IdempotentWrite {
    /// How a write records its key.
    enum Way: Sendable {
        /// The write stores the key in its own transaction.
        case stored
        /// The action does not write to the store, so the key is stored before the action.
        case outside
        /// As `outside`; the response contains a secret and is not stored.
        case secret
        /// As `outside`; the action is idempotent, and only its response is stored.
        case repeatable
    }

    /// The writes in progress, by person and key.
    private static let underWay = Mutex(Set<[String]>())

    static func answer(
        _ call: APICall, _ way: Way, _ act: @Sendable (APICall, TrackerDesk, inout Fields) async throws -> Answer
    )
        async throws -> Answer
    {
        let body = try await call.body()
        try checkType(call.request, body)
        return try await answer(call, way, asking: Array(body.readableBytesView)) { desk in
            var fields = try Fields(body)
            return try await act(call, desk, &fields)
        }
    }

    /// - Parameter what: distinguishes this request's body from others.
    static func answer(
        _ call: APICall, _ way: Way, asking what: [UInt8], _ act: @Sendable (TrackerDesk) async throws -> Answer
    ) async throws -> Answer {
        var desk = try call.desk()
        guard let key = try key(of: call.request) else { return try await act(desk) }
        let errand = IdempotentRequest(
            key: key, asking: Array("\(call.request.method.rawValue) \(place(of: call.request)) ".utf8) + what,
            at: desk.context.now)
        let name = [call.person.name, key]
        if let known = try replay(errand, desk, way, name) { return known }
        if way != .stored {
            guard underWay.withLock({ $0.insert(name).inserted }) else { throw isUnderWay }
        }
        defer { if way != .stored { underWay.withLock { _ = $0.remove(name) } } }
        do {
            if way == .outside || way == .secret { try desk.store.begin(errand) }
            if way != .repeatable { desk = desk.running(errand) }
            let answer = try await act(desk)
            // The write is done. If the response cannot be stored, a repeated request gets a shorter one.
            let kept = TrackerStore.KnownRequest.Answer(
                status: answer.status.code, body: Array(answer.bytes.readableBytesView))
            try? desk.store.keep(way == .secret ? nil : kept, to: errand)
            return answer
        } catch let problem where way != .stored && !(problem is IdempotentRequest.Repeated) {
            // The write failed, and the client gets the error. It may retry with the same key.
            try? desk.store.forget(errand)
            throw problem
        } catch is IdempotentRequest.Repeated {
            // Another request with the same key was in progress.
            guard let known = try replay(errand, desk, way, nil) else { throw isUnderWay }
            return known
        }
    }

    private static func place(of request: Request) -> String { request.head.path ?? "" }

    /// The idempotency key of a request, if any.
    static func key(of request: Request) throws -> String? {
        guard let key = request.headers[.idempotencyKey] else { return nil }
        // Proxies and programs may encode blanks and other characters differently, which would change the key.
        guard (1...128).contains(key.utf8.count), key.utf8.allSatisfy({ $0 > 32 && $0 < 127 }) else {
            throw HTTPProblem.wrong(
                "idempotencyKey", "An Idempotency-Key must have 1 to 128 visible ASCII characters without blanks.")
        }
        return key
    }

    private static let isUnderWay = HTTPProblem(
        .conflict, "underWay", "The same request is in progress.", headers: [.retryAfter: "5"])

    /// - Parameter name: the entry in `underWay`; `nil` if it was checked already.
    private static func replay(_ errand: IdempotentRequest, _ desk: TrackerDesk, _ way: Way, _ name: [String]?) throws
        -> Answer?
    {
        guard let known = try desk.store.request(errand.key) else { return nil }
        guard known.fingerprint == errand.fingerprint else {
            throw HTTPProblem(
                .conflict, "idempotencyKeyReused", "This Idempotency-Key was used for another request.")
        }
        if way != .stored, known.answer == nil, let name, underWay.withLock({ $0.contains(name) }) { throw isUnderWay }
        guard way != .secret else {
            throw HTTPProblem(
                .conflict, "secretGivenOnce",
                """
                This request was done. Its response had a secret, which is not stored. If the response was lost, use \
                another Idempotency-Key, and revoke the unused token in the list of tokens.
                """
            )
        }
        var answer: Answer
        if let kept = known.answer {
            answer = Answer(
                status: .init(code: kept.status), type: kept.body.isEmpty ? "" : "application/json",
                bytes: ByteBuffer(bytes: kept.body))
        } else if way == .outside {
            // The key was stored before the action, and the process ended before it stored the result.
            throw HTTPProblem(
                .conflict, "outcomeUnknown",
                """
                Outcome unknown: the service stopped during this request. Check the state; to repeat it, use \
                another Idempotency-Key.
                """
            )
        } else {
            // The action is done, and the process ended before it stored the response.
            answer = .json(["state": try desk.state()])
        }
        answer.headers[.idempotentReplayed] = "true"
        return answer
    }

    private static func checkType(_ request: Request, _ body: ByteBuffer) throws {
        guard body.readableBytes > 0 else { return }
        let type = request.headers[.contentType]?.split(separator: ";").first?.lowercased()
        guard type == "application/json" else {
            throw HTTPProblem(
                .unsupportedMediaType, "notJSON", "The body must be JSON: Content-Type: application/json.")
        }
    }
}
