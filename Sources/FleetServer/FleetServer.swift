import FleetStore
import FleetWire
import Foundation
import HTTPListening
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Packing
import TrackerCore

/// The web server of a fleet. It keeps nothing itself: any number of them stand before one PostgreSQL.
///
/// A batch is answered with 200 only when it is committed. Where it cannot be, the answer says why, and when to come
/// again.
public struct FleetServer: Sendable {
    /// So many connections at once.
    public static let connectionLimit = 2500
    /// So long may a batch take to arrive.
    static let arrivalLimit = Duration.seconds(30)

    private let writers: FleetPool
    private let readers: FleetPool
    /// Adds up what was stored.
    private let keeper: FleetPool
    private let feed: FleetFeed
    private let stored = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private let counts = FleetCounts()
    private let now: @Sendable () -> Instant
    private let log: Logger

    /// - Parameters:
    ///   - database: as libpq takes it.
    ///   - batches: so many are stored at once, each over a connection of its own; others are told to come again. Two
    ///     more connections answer who looks, one adds up, and one
    ///     listens.
    public init(_ database: String, batches: Int, log: Logger, now: @escaping @Sendable () -> Instant) {
        (writers, readers, keeper) = (
            FleetPool(database, limit: batches), FleetPool(database, limit: 2), FleetPool(database, limit: 1)
        )
        feed = FleetFeed(database)
        (self.log, self.now) = (log, now)
    }

    /// Serves until the task is cancelled.
    /// - Parameter ready: told once, with the port in use.
    public func run(on endpoint: HTTPListener.Endpoint, ready: @escaping @Sendable (_ port: Int?) async -> Void)
        async throws
    {
        let router = Router(context: BasicRequestContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: Porch(counts: counts, log: log))
        router.post("/v1/entries") { request, _ in try await take(request) }
        router.post("/v1/doubts") { request, _ in try await takeDoubts(request) }
        addLooks(router)
        addAdministration(router)
        router.get("/healthz") { _, _ in
            try await readers.withPlaceInLine { try await readers.use { try $0.check(isRunning: true) } }
            return Self.answer("text/plain; charset=utf-8", Array("ok\n".utf8))
        }
        let responder = router.buildResponder()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await feed.run() }
            group.addTask { await keep() }
            group.addTask {
                try await HTTPListener(endpoint, connectionLimit: Self.connectionLimit, log: log).run(
                    responder, ready: ready)
            }
            // The listener alone ends by itself.
            defer { group.cancelAll() }
            for try await _ in group { return }
        }
    }

    /// Adds up what was stored, soon; and once an hour lets go of what the audit need not hold any more.
    private func keep() async {
        var tidied = ContinuousClock.now
        // What was left when the last server ended.
        stored.continuation.yield()
        for await _ in stored.stream {
            try? await Task.sleep(for: .milliseconds(200))
            let isTime = tidied + .seconds(3600) < .now
            if isTime { tidied = .now }
            do {
                try await keeper.use { store in
                    try store.refresh()
                    if isTime { try store.tidy() }
                }
            } catch {
                // Whoever looks does it, or the next batch.
                log.debug("The days are not added up: \(error)")
            }
        }
    }

    // MARK: - Looking

    private func addLooks(_ router: Router<BasicRequestContext>) {
        router.get("/v1/overview") { request, _ in
            let overview = try await overview(request)
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return Self.answer("application/json", Array(try encoder.encode(overview)))
        }
        router.get("/") { request, _ in
            Self.answer("text/html; charset=utf-8", Array(FleetPage.html(try await overview(request)).utf8))
        }
        router.get("/v1/overview.csv") { request, _ in
            let overview = try await overview(request)
            let lines = overview.people.map {
                """
                \(SpreadsheetCell.row($0.name)),\($0.day),\($0.todayMl),\($0.drinks),\($0.lastDrinkSecondsAgo.map { "\($0)" } ?? ""),\($0.doubts)\n
                """
            }
            return Self.table(
                "person,day,ml,drinks,last_drink_seconds_ago,doubts\n" + lines.joined(), isBehind: overview.isBehind,
                isCut: overview.isCut)
        }
        router.get("/people/:person") { request, context in
            let person = try await look(request, at: context) { try FleetPerson($1, $0) }
            return Self.answer("text/html; charset=utf-8", Array(FleetPage.html(person).utf8))
        }
        router.get("/v1/people/:person/days") { request, context in
            let (days, isBehind) = try await look(request, at: context) { store, name in
                try store.addedUpDays(of: name).map {
                    ($0.days.map { "\($0.day),\($0.ml),\($0.drinks)\n" }, $0.isBehind)
                }
            }
            return Self.table("day,ml,drinks\n" + days.joined(), isBehind: isBehind)
        }
        router.get("/v1/people/:person/drinks") { request, context in
            let drinks = try await look(request, at: context) { store, name in
                try store.days(of: name).map { _ in
                    try store.drinks(of: name, limit: Self.drinkLimit).map {
                        "\($0.at.milliseconds),\($0.zone),\($0.day),\($0.ml),\(SpreadsheetCell.row($0.bottle ?? ""))\n"
                    }
                }
            }
            return Self.table("at_ms,zone,day,ml,bottle\n" + drinks.joined(), isBehind: false)
        }
        router.get("/metrics") { request, _ in
            let figures = try await look(request, carersToo: false) { store, _ in try store.figures() }
            return Self.answer("text/plain; version=0.0.4", Array((counts.text + FleetCounts.text(figures)).utf8))
        }
        router.get("/v1/events") { request, _ in try await events(request) }
    }

    /// Where there was too much to wait for, it is added up now.
    private func overview(_ request: Request) async throws -> FleetOverview {
        let now = now()
        let overview = try await look(request) { try $0.overview(now: now, for: $1) }
        if overview.isBehind { stored.continuation.yield() }
        return overview
    }

    /// So many of a person's newest drinks are told at once.
    static let drinkLimit = 100_000

    /// Whose days became others, as server-sent events, until whoever watches goes or is let in no more.
    private func events(_ request: Request) async throws -> Response {
        let credential = try Self.credential(request)
        let readers = readers
        _ = try await readers.withPlaceInLine { try await visitor(credential, readers, \.role.looks) }
        let watch = try feed.watch()
        let body = ResponseBody { writer in
            do {
                try await writer.write(ByteBuffer(string: "retry: 2000\n\n"))
                try await request.body.consumeWithInboundCloseHandler { _ in
                    for await event in watch.events {
                        guard case .changed(let people) = event else {
                            try await writer.write(ByteBuffer(string: ": ping\n\n"))
                            continue
                        }
                        let hash = FleetCredential.hash(credential)
                        guard
                            let visitor = try await readers.withPlaceInLine({
                                try await readers.use { try $0.visitor(hash) }
                            }), !visitor.isRevoked
                        else { break }
                        let seen = people?.filter(visitor.sees).sorted()
                        guard seen != [] else { continue }
                        let data = String(decoding: try JSONEncoder().encode(["people": seen]), as: UTF8.self)
                        try await writer.write(ByteBuffer(string: "event: changed\ndata: \(data)\n\n"))
                    }
                } onInboundClosed: {
                    watch.leave()
                }
            } catch {
                watch.leave()
                throw error
            }
            watch.leave()
            try await writer.finish(nil)
        }
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"], body: body)
    }

    // MARK: - Administration

    private func addAdministration(_ router: Router<BasicRequestContext>) {
        router.get("/v1/audit") { request, _ in
            let lines = try await look(request, { $0.role == .admin }) { store, _ in
                try store.audit(limit: 1000, all: true).map { "\($0.at) \($0.who): \($0.what)\n" }
            }
            return Self.answer("text/plain; charset=utf-8", Array(lines.joined().utf8))
        }
        router.delete("/v1/people/:person") { request, context in
            let name = try Self.person(context)
            let copies = try await look(request, { $0.role == .admin }) { store, visitor -> [String]? in
                guard try store.forget(name, by: visitor.name) else { return nil }
                // Copies of everything, of rehearsals. The forgetting holds, whether they can be looked for or not.
                return (try? store.sweepScratchDatabases()).map { $0.left + $0.underWay } ?? []
            }
            guard let copies else { throw FleetProblem.missing }
            struct Forgotten: Encodable {
                let forgotten = true
                let copies: [String]?
            }
            return Self.answer(
                "application/json",
                Array((try? JSONEncoder().encode(Forgotten(copies: copies.isEmpty ? nil : copies))) ?? Data()))
        }
    }

    // MARK: - Parts

    private func take(_ request: Request) async throws -> Response {
        let credential = try Self.credential(request)
        try Self.checkType(request)
        let standing = try Self.standing(request), mark = try Self.mark(request)
        // The place is taken before the body: what waits in memory is bounded, too.
        let batch = try await writers.withPlace {
            let visitor = try await visitor(credential, writers) { $0.role == .gateway }
            return try await writers.withShare(of: visitor.id) {
                let lines = try FleetLines(await Self.body(request))
                return try await writers.use { try $0.take(lines, from: visitor, standing: standing, doubts: mark) }
            }
        }
        counts.stored(batch)
        if batch.taken > 0 { stored.continuation.yield() }
        return Self.answer(
            "application/json",
            Array(
                #"""
                {"taken":\#(batch.taken),"known":\#(batch.known),"parked":\#(batch.parked)\#(batch.lacksDoubts ? #","asksFor":["\#(FleetAnswer.doubts)"]"# : "")}
                """#
                .utf8))
    }

    /// What a store says of itself; what is no such thing is refused, since the store relies on it.
    private static func standing(_ request: Request) throws -> FleetStanding? {
        guard let text = request.headers[.waterhTold] else { return nil }
        guard let standing = FleetStanding(text) else {
            throw FleetProblem(
                .badRequest, "noStanding",
                """
                \(FleetStanding.field) is STORE GENERATION PLACE, with generations of 0 to \
                \(FleetEntry.generations.upperBound) and places from 0 on. Nothing of the batch was stored.
                """
            )
        }
        return standing
    }

    private static func mark(_ request: Request) throws -> String? {
        guard let text = request.headers[.waterhDoubts] else { return nil }
        guard FleetStanding.isMark(text) else {
            throw FleetProblem(
                .badRequest, "noStanding",
                "\(FleetStanding.doubtsField) is 1 to 64 letters a-z and A-Z and digits. Nothing was stored.")
        }
        return text
    }

    private static func checkType(_ request: Request) throws {
        let type = request.headers[.contentType]?.split(separator: ";").first?.trimmingCharacters(in: .whitespaces)
            .lowercased()
        guard type == "application/x-ndjson" else {
            throw FleetProblem(
                .unsupportedMediaType, "notLines", "A batch is application/x-ndjson: one JSON object a line.")
        }
    }

    private func takeDoubts(_ request: Request) async throws -> Response {
        let credential = try Self.credential(request)
        try Self.checkType(request)
        // They are decoded already.
        let fields = request.uri.queryParameters, mark = try Self.mark(request)
        let (store, person) = (fields["store"].map(String.init) ?? "", fields["person"].map(String.init))
        let boundary = fields["boundary"].flatMap { Int($0) }
        guard fields["boundary"] == nil || boundary.map({ (0...6).contains($0) }) ?? false else {
            throw FleetProblem(.badRequest, "noHour", "A person's days begin at an hour of 0 to 6: boundary=4.")
        }
        guard FleetEntry.isPrintable(store, 64), person.map({ FleetEntry.isPrintable($0, 64) }) ?? true else {
            throw FleetProblem(
                .badRequest, "noStore",
                "Say of which store these are: /v1/doubts?store=NAME, and person=NAME where there are several.")
        }
        let count = try await writers.withPlace {
            let visitor = try await visitor(credential, writers) { $0.role == .gateway }
            return try await writers.withShare(of: visitor.id) {
                let doubts = try FleetLines.doubts(await Self.body(request))
                try await writers.use {
                    try $0.take(doubts, of: person, in: store, from: visitor, boundary: boundary, mark: mark)
                }
                return doubts.count
            }
        }
        return Self.answer("application/json", Array(#"{"doubts":\#(count)}"#.utf8))
    }

    private func look<Result: Sendable>(
        _ request: Request, carersToo: Bool = true,
        _ body: @escaping @Sendable (FleetStore, FleetVisitor) throws -> Result
    ) async throws -> Result {
        try await look(request, { $0.role.looks && (carersToo || $0.role != .carer) }, body)
    }

    private func look<Result: Sendable>(
        _ request: Request, _ may: (FleetVisitor) -> Bool,
        _ body: @escaping @Sendable (FleetStore, FleetVisitor) throws -> Result
    ) async throws -> Result {
        let credential = try Self.credential(request)
        return try await readers.withPlaceInLine {
            let visitor = try await visitor(credential, readers, may)
            return try await readers.use { try body($0, visitor) }
        }
    }

    /// At a person: noted in the audit, where the database may be written.
    private func look<Result: Sendable>(
        _ request: Request, at context: BasicRequestContext,
        _ body: @escaping @Sendable (FleetStore, String) throws -> Result?
    ) async throws -> Result {
        let name = try Self.person(context)
        let found = try await look(request) { store, visitor -> Result? in
            guard visitor.sees(name), let found = try body(store, name) else { return nil }
            do { try store.noteLook(visitor, at: name) } catch let failure as FleetFailure
                where failure.kind == .readOnly
            {}
            return found
        }
        guard let found else { throw FleetProblem.missing }
        return found
    }

    private static func person(_ context: BasicRequestContext) throws -> String {
        let name = context.parameters.get("person").flatMap { PathPart.decoded($0) } ?? ""
        guard !name.isEmpty, !name.utf8.contains(0) else { throw FleetProblem.missing }
        return name
    }

    private func visitor(_ credential: String, _ pool: FleetPool, _ may: (FleetVisitor) -> Bool) async throws
        -> FleetVisitor
    {
        let hash = FleetCredential.hash(credential)
        guard let visitor = try await pool.use({ try $0.visitor(hash) }) else {
            throw FleetProblem(
                .unauthorized, "unknownCredential", "Nobody here knows this credential.",
                headers: [.wwwAuthenticate: "Bearer"])
        }
        guard !visitor.isRevoked else {
            throw FleetProblem(.forbidden, "credentialRevoked", "This credential was taken back.")
        }
        guard may(visitor) else {
            let words =
                switch visitor.role {
                case .gateway: "A gateway's credential shows nothing: a reader's does."
                case .reader: "Who only looks tells no entries, and changes nothing."
                case .carer: "Who cares for people sees these people, and nothing else."
                case .admin: "Who administers the fleet tells no entries."
                }
            throw FleetProblem(.forbidden, "otherRole", words)
        }
        return visitor
    }

    private static func credential(_ request: Request) throws -> String {
        guard let credential = FleetCredential.shown(request.headers[.authorization]) else {
            throw FleetProblem(
                .unauthorized, "notLetIn",
                "Show a credential: Authorization: Bearer …, or as the password in a browser.",
                headers: [.wwwAuthenticate: "Basic realm=\"fleet\", charset=\"UTF-8\""])
        }
        return credential
    }

    /// A batch's bytes, unpacked, within the limits.
    private static func body(_ request: Request) async throws -> [UInt8] {
        let packing = (request.headers[.contentEncoding] ?? "identity").lowercased()
        guard ["identity", "gzip"].contains(packing) else {
            throw FleetProblem(
                .unsupportedMediaType, "packed", "A batch is sent as it is, or packed as gzip.",
                headers: [.acceptEncoding: "gzip, identity"])
        }
        guard request.headers[.contentLength].flatMap(Int.init) ?? 0 <= FleetLines.byteLimit else {
            throw FleetProblem(explaining: HTTPError(.contentTooLarge))
        }
        let bytes = try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
            group.addTask {
                do { return Array(buffer: try await request.body.collect(upTo: FleetLines.byteLimit)) } catch let error
                    as HTTPError
                { throw error } catch let error as CancellationError { throw error } catch {
                    throw FleetProblem(
                        .badRequest, "cutBody", "The batch was cut before its end (\(error)). Nothing of it was stored."
                    )
                }
            }
            group.addTask {
                try await Task.sleep(for: arrivalLimit)
                return nil
            }
            defer { group.cancelAll() }
            guard let body = try await group.next() ?? nil else {
                throw FleetProblem(
                    .requestTimeout, "slowBody",
                    "The batch did not arrive within \(arrivalLimit.components.seconds) s. Send less at once.")
            }
            return body
        }
        let plain = packing == "gzip" ? try Gzip.unpack(bytes, limit: FleetLines.byteLimit) : bytes
        // RFC 1952, 2.3.1. Read as lines it would be set aside, and the gateway would forget what is in it.
        guard !plain.starts(with: [0x1F, 0x8B]) else {
            throw FleetProblem(
                .unsupportedMediaType, "packed",
                "The batch is a gzip, and Content-Encoding does not say so. Nothing of it was stored.",
                headers: [.acceptEncoding: "gzip, identity"])
        }
        return plain
    }

    private static func answer(_ type: String, _ bytes: [UInt8]) -> Response {
        Response(
            status: .ok, headers: [.contentType: type, .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// CSV, which has no room for words.
    private static func table(_ text: String, isBehind: Bool, isCut: Bool = false) -> Response {
        var response = answer("text/csv; charset=utf-8", Array(text.utf8))
        if isBehind { response.headers[.waterhBehind] = "1" }
        if isCut { response.headers[.waterhCut] = "1" }
        return response
    }

    /// What every request passes: errors become words.
    private struct Porch: RouterMiddleware {
        let counts: FleetCounts
        let log: Logger

        func handle(
            _ request: Request, context: BasicRequestContext,
            next: (Request, BasicRequestContext) async throws -> Response
        ) async throws -> Response {
            var response: Response
            do { response = try await next(request, context) } catch {
                let problem = FleetProblem(explaining: error)
                if problem.status.code >= 500 { log.warning("\(problem.detail)") }
                response = problem.response
                if request.method == .head { response.body = .init() }
            }
            response.headers[.xContentTypeOptions] = "nosniff"
            response.headers[.contentSecurityPolicy] =
                "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
            counts.answered(response.status.code)
            return response
        }
    }
}

extension HTTPField.Name {
    /// Not all that was told is in the figures yet.
    fileprivate static let waterhBehind = Self("Waterh-Behind")!
    fileprivate static let waterhCut = Self("Waterh-Cut")!
    /// How far a store believes that it is known.
    fileprivate static let waterhTold = Self(FleetStanding.field)!
    /// What it calls the doubts that it told last.
    fileprivate static let waterhDoubts = Self(FleetStanding.doubtsField)!
}
