import HTTPTypes
import Hummingbird
import NIOCore
import Store
import Synchronization
import TrackerCore
import TrackerService

/// Does what a write asks for once for each key: a tap that is sent again, because its answer was lost or the service
/// was started anew in between, counts once and is answered as the first time.
enum Once {
    /// How a write and its key belong together.
    enum Way: Sendable {
        /// The write notes the key in its own transaction.
        case stored
        /// What is done is no write to the store: the key is noted before.
        case outside
        /// As `outside`, and the answer holds a secret: it is given once and kept nowhere.
        case secret
        /// As `outside`, and done twice it comes to the same: only its answer is kept.
        case repeatable
    }

    /// What this process is doing at this moment, by person and key.
    private static let underWay = Mutex(Set<[String]>())

    static func answer(_ ask: Ask, _ way: Way, _ act: @Sendable (Ask, TrackerDesk, inout Fields) async throws -> Answer)
        async throws -> Answer
    {
        let body = try await ask.body()
        try checkType(ask.request, body)
        return try await answer(ask, way, asking: Array(body.readableBytesView)) { desk in
            var fields = try Fields(body)
            return try await act(ask, desk, &fields)
        }
    }

    /// - Parameter what: tells this request's body from others'.
    static func answer(
        _ ask: Ask, _ way: Way, asking what: [UInt8], _ act: @Sendable (TrackerDesk) async throws -> Answer
    ) async throws -> Answer {
        var desk = try ask.desk()
        guard let key = try key(of: ask.request) else { return try await act(desk) }
        let errand = Errand(
            key: key, asking: Array("\(ask.request.method.rawValue) \(place(of: ask.request)) ".utf8) + what,
            at: desk.context.now)
        let name = [ask.person.name, key]
        if let known = try replay(errand, desk, way, name) { return known }
        if way != .stored {
            guard underWay.withLock({ $0.insert(name).inserted }) else { throw isUnderWay }
        }
        defer { if way != .stored { underWay.withLock { _ = $0.remove(name) } } }
        do {
            if way == .outside || way == .secret { try desk.store.begin(errand) }
            if way != .repeatable { desk = desk.running(errand) }
            let answer = try await act(desk)
            // The write stands; that its answer could not be kept only makes a second answer shorter.
            let kept = TrackerStore.KnownRequest.Answer(
                status: answer.status.code, body: Array(answer.bytes.readableBytesView))
            try? desk.store.keep(way == .secret ? nil : kept, to: errand)
            return answer
        } catch let problem where way != .stored && !(problem is Errand.Repeated) {
            // It failed, and whoever asked hears so: the same may be tried again.
            try? desk.store.forget(errand)
            throw problem
        } catch is Errand.Repeated {
            // Somebody else was doing the same a moment ago.
            guard let known = try replay(errand, desk, way, nil) else { throw isUnderWay }
            return known
        }
    }

    private static func place(of request: Request) -> String { request.head.path ?? "" }

    /// The request's own name, where it has one.
    static func key(of request: Request) throws -> String? {
        guard let key = request.headers[.idempotencyKey] else { return nil }
        // Proxies and programs may write blanks and other letters differently each time: then it would be another key.
        guard (1...128).contains(key.utf8.count), key.utf8.allSatisfy({ $0 > 32 && $0 < 127 }) else {
            throw HTTPProblem.wrong(
                "idempotencyKey", "An Idempotency-Key has 1 to 128 visible ASCII characters without blanks.")
        }
        return key
    }

    private static let isUnderWay = HTTPProblem(
        .conflict, "underWay", "The same is under way.", headers: [.retryAfter: "5"])

    /// - Parameter name: under which this process would be doing it now; `nil` where that is asked already.
    private static func replay(_ errand: Errand, _ desk: TrackerDesk, _ way: Way, _ name: [String]?) throws -> Answer? {
        guard let known = try desk.store.request(errand.key) else { return nil }
        guard known.fingerprint == errand.fingerprint else {
            throw HTTPProblem(
                .conflict, "idempotencyKeyReused", "This Idempotency-Key was used for something else before.")
        }
        if way != .stored, known.answer == nil, let name, underWay.withLock({ $0.contains(name) }) { throw isUnderWay }
        guard way != .secret else {
            throw HTTPProblem(
                .conflict, "secretGivenOnce",
                """
                This was done, and its answer held a secret that is kept nowhere. If it was lost, ask again under \
                another Idempotency-Key, and take back what nobody holds in the list of tokens.
                """
            )
        }
        var answer: Answer
        if let kept = known.answer {
            answer = Answer(
                status: .init(code: kept.status), type: kept.body.isEmpty ? "" : "application/json",
                bytes: ByteBuffer(bytes: kept.body))
        } else if way == .outside {
            // It was noted before it was done, and the process ended before it could say how that went.
            throw HTTPProblem(
                .conflict, "outcomeUnknown",
                """
                This was begun, and the service ended before it could say whether it was done. Look how things \
                stand; to have it done again, ask under another Idempotency-Key.
                """
            )
        } else {
            // It was done, and the process ended before it could answer.
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
                .unsupportedMediaType, "notJSON", "The body is to be JSON: Content-Type: application/json.")
        }
    }
}
