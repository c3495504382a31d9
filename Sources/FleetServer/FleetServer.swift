import FleetStore
import FleetWire
import Foundation
import HTTPListening
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import TrackerCore

/// The web server of a fleet. It keeps nothing itself: any number of them stand before one PostgreSQL.
///
/// A batch is answered with 200 only when it is committed. Where it cannot be, the answer says why, and when to come again.
public struct FleetServer: Sendable {
    /// So many connections at once.
    public static let connectionLimit = 2500
    /// So long may a batch take to arrive.
    static let arrivalLimit = Duration.seconds(30)

    private let writers: FleetPool
    private let readers: FleetPool
    private let counts = FleetCounts()
    private let now: @Sendable () -> Instant
    private let log: Logger

    /// - Parameters:
    ///   - database: as libpq takes it.
    ///   - batches: so many are stored at once, each over a connection of its own; others are told to come again. Two more connections answer who looks.
    public init(_ database: String, batches: Int, log: Logger, now: @escaping @Sendable () -> Instant) {
        (writers, readers) = (FleetPool(database, limit: batches), FleetPool(database, limit: 2))
        (self.log, self.now) = (log, now)
    }

    /// Serves until the task is cancelled.
    /// - Parameter ready: told once, with the port in use.
    public func run(on endpoint: HTTPListener.Endpoint, ready: @escaping @Sendable (_ port: Int?) async -> Void) async throws {
        let router = Router(context: BasicRequestContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: Porch(counts: counts, log: log))
        router.post("/v1/entries") { request, _ in try await take(request) }
        router.get("/v1/overview") { request, _ in
            let now = now()
            let overview = try await look(request) { try $0.overview(now: now) }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return Self.answer("application/json", Array(try encoder.encode(overview)))
        }
        router.get("/") { request, _ in
            let now = now()
            return Self.answer("text/html; charset=utf-8", Array(FleetPage.html(try await look(request) { try $0.overview(now: now) }).utf8))
        }
        router.get("/v1/people/:person/days") { request, context in
            let name = context.parameters.get("person").flatMap(\.removingPercentEncoding) ?? ""
            guard !name.utf8.contains(0) else { throw FleetProblem.missing }
            guard let days = try await look(request, { try $0.days(of: name)?.map { "\($0.day),\($0.ml),\($0.drinks)\n" } }) else {
                throw FleetProblem.missing
            }
            return Self.answer("text/csv; charset=utf-8", Array(("day,ml,drinks\n" + days.joined()).utf8))
        }
        router.get("/metrics") { request, _ in
            _ = try await look(request) { _ in }
            return Self.answer("text/plain; version=0.0.4", Array(counts.text.utf8))
        }
        router.get("/healthz") { _, _ in
            try await readers.withPlace { try await readers.use { try $0.check() } }
            return Self.answer("text/plain; charset=utf-8", Array("ok\n".utf8))
        }
        try await HTTPListener(endpoint, connectionLimit: Self.connectionLimit, log: log).run(router.buildResponder(), ready: ready)
    }

    private func take(_ request: Request) async throws -> Response {
        let credential = try Self.credential(request)
        let type = request.headers[.contentType]?.split(separator: ";").first?.trimmingCharacters(in: .whitespaces).lowercased()
        guard type == "application/x-ndjson" else { throw FleetProblem(.unsupportedMediaType, "notLines", "A batch is application/x-ndjson: one JSON object a line.") }
        guard (request.headers[.contentEncoding] ?? "identity").lowercased() == "identity" else {
            throw FleetProblem(.unsupportedMediaType, "packed", "A batch is sent as it is, not packed.", headers: [.acceptEncoding: "identity"])
        }
        guard request.headers[.contentLength].flatMap(Int.init) ?? 0 <= FleetLines.byteLimit else { throw FleetProblem(explaining: HTTPError(.contentTooLarge)) }
        // The place is taken before the body: what waits in memory is bounded, too.
        let batch = try await writers.withPlace {
            let visitor = try await visitor(credential, .gateway, writers)
            let body = try await Self.body(request)
            let lines = try FleetLines(body)
            return try await writers.use { try $0.take(lines, from: visitor) }
        }
        counts.stored(batch)
        return Self.answer("application/json", Array(#"{"taken":\#(batch.taken),"known":\#(batch.known),"parked":\#(batch.parked)}"#.utf8))
    }

    private func look<Result: Sendable>(_ request: Request, _ body: @escaping @Sendable (FleetStore) throws -> Result) async throws -> Result {
        let credential = try Self.credential(request)
        return try await readers.withPlace {
            _ = try await visitor(credential, .reader, readers)
            return try await readers.use(body)
        }
    }

    private func visitor(_ credential: String, _ role: FleetVisitor.Role, _ pool: FleetPool) async throws -> FleetVisitor {
        let hash = FleetCredential.hash(credential)
        guard let visitor = try await pool.use({ try $0.visitor(hash) }) else { throw FleetProblem(.unauthorized, "unknownCredential", "Nobody here knows this credential.", headers: [.wwwAuthenticate: "Bearer"]) }
        guard !visitor.isRevoked else { throw FleetProblem(.forbidden, "credentialRevoked", "This credential was taken back.") }
        guard visitor.role == role else {
            throw FleetProblem(.forbidden, "otherRole", role == .gateway ? "Who only looks tells no entries." : "A gateway's credential shows nothing: a reader's does.")
        }
        return visitor
    }

    private static func credential(_ request: Request) throws -> String {
        guard let credential = FleetCredential.shown(request.headers[.authorization]) else {
            throw FleetProblem(.unauthorized, "notLetIn", "Show a credential: Authorization: Bearer …, or as the password in a browser.", headers: [.wwwAuthenticate: "Basic realm=\"fleet\", charset=\"UTF-8\""])
        }
        return credential
    }

    private static func body(_ request: Request) async throws -> [UInt8] {
        try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
            group.addTask { Array(buffer: try await request.body.collect(upTo: FleetLines.byteLimit)) }
            group.addTask {
                try await Task.sleep(for: arrivalLimit)
                return nil
            }
            defer { group.cancelAll() }
            guard let body = try await group.next() ?? nil else { throw FleetProblem(.requestTimeout, "slowBody", "The batch did not arrive within \(arrivalLimit.components.seconds) s. Send less at once.") }
            return body
        }
    }

    private static func answer(_ type: String, _ bytes: [UInt8]) -> Response {
        Response(status: .ok, headers: [.contentType: type, .cacheControl: "no-store"], body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// What every request passes: errors become words.
    private struct Porch: RouterMiddleware {
        let counts: FleetCounts
        let log: Logger

        func handle(_ request: Request, context: BasicRequestContext, next: (Request, BasicRequestContext) async throws -> Response) async throws -> Response {
            var response: Response
            do { response = try await next(request, context) } catch {
                let problem = FleetProblem(explaining: error)
                if problem.status.code >= 500 { log.warning("\(problem.detail)") }
                response = problem.response
                if request.method == .head { response.body = .init() }
            }
            response.headers[.xContentTypeOptions] = "nosniff"
            response.headers[.contentSecurityPolicy] = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
            counts.answered(response.status.code)
            return response
        }
    }
}
