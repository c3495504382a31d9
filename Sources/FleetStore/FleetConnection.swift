import CLibPQ
import Foundation
import Glibc

/// A connection to PostgreSQL over libpq. Whoever uses it waits, but never for longer than the limits say. It belongs
/// to one thread at a time.
public final class FleetConnection {
    /// Where it leads: host, port and database; no user, no password.
    public let place: String
    private let handle: OpaquePointer
    private let statementLimit: Duration
    /// So long a lock is waited for, in milliseconds.
    let lockLimit: Int64
    private var prepared: [String: String] = [:]
    private let warnings = Warnings()
    /// In which people were who were looked at last.
    var zones = ["UTC"]
    /// It is of no use any more; another one is to be opened.
    public private(set) var isBroken = false

    /// - Parameters:
    ///   - database: as libpq takes it, `host=… dbname=…` or `postgresql://…`; what it leaves out comes from the
    ///     environment (PGHOST, PGPASSWORD, …).
    ///   - connectLimit: until there is a connection.
    ///   - statementLimit: for each statement; the server ends what takes longer.
    public init(_ database: String, connectLimit: Duration = .seconds(5), statementLimit: Duration = .seconds(20))
        throws(FleetFailure)
    {
        guard !database.utf8.contains(0),
            let options = PQconninfoParse(
                database.isEmpty || database.contains("=") || database.contains("://")
                    ? database : "dbname=" + database, nil)
        else {
            // What libpq says of it quotes it, and it may hold a password.
            throw FleetFailure(
                .wrongUse,
                """
                These words name no database. Write host=… dbname=… user=…, with a value that has blanks in single \
                quotes; or postgresql://…, with signs like % and @ in a password as %25 and %40.
                """
            )
        }
        let places = Self.places(options)
        PQconninfoFree(options)
        // Of several places one may say nothing at all: the next has to have its turn within the limit.
        let seconds = "\(max(2, connectLimit.components.seconds / Int64(places)))"
        let names = Self.copies(["dbname", "connect_timeout", "application_name", "client_encoding", nil])
        let values = Self.copies([database, seconds, "waterh", "UTF8", nil])
        defer { Self.free(names + values) }
        // Only when libpq waits itself it goes on to the next place where one says nothing.
        guard let handle = places > 1 ? PQconnectdbParams(names, values, 1) : PQconnectStartParams(names, values, 1)
        else { throw FleetFailure(.broken, "There is no memory for a connection.") }
        self.handle = handle
        self.statementLimit = statementLimit
        place = Self.place(handle)
        let keepWarning: PQnoticeProcessor = { warnings, text in
            guard let warnings, let text else { return }
            Unmanaged<Warnings>.fromOpaque(warnings).takeUnretainedValue().last = String(cString: text)
        }
        PQsetNoticeProcessor(handle, keepWarning, Unmanaged.passUnretained(warnings).toOpaque())
        let deadline = ContinuousClock.now + connectLimit
        var wanted = places > 1 ? PGRES_POLLING_OK : PGRES_POLLING_WRITING
        while PQstatus(handle) != CONNECTION_BAD, wanted != PGRES_POLLING_OK, wanted != PGRES_POLLING_FAILED {
            guard Self.wait(PQsocket(handle), wanted == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline) else {
                throw FleetFailure(
                    .unreachable,
                    """
                    PostgreSQL at \(place) does not answer within \(connectLimit.components.seconds) s. See \
                    whether it runs, and whether this is its place.
                    """
                )
            }
            wanted = PQconnectPoll(handle)
        }
        guard PQstatus(handle) == CONNECTION_OK else { throw Self.refusal(handle, place) }
        guard PQsetnonblocking(handle, 1) == 0 else {
            throw FleetFailure(.broken, "The connection to PostgreSQL at \(place) cannot be used without blocking.")
        }
        let milliseconds =
            statementLimit.components.seconds * 1000 + statementLimit.components.attoseconds / 1_000_000_000_000_000
        lockLimit = milliseconds
        // A database or a user may be set to write dates otherwise than we read them, or to look at the moment before a
        // lock was waited for. Compiling a statement takes longer than any of ours: PostgreSQL did it for each piece of
        // the days that it added up, because it took them for many.
        try script(
            """
            SET statement_timeout = \(milliseconds); SET lock_timeout = \(milliseconds); SET \
            idle_in_transaction_session_timeout = \(3 * milliseconds);
            SET TIME ZONE 'UTC'; SET client_min_messages = warning;
            SET datestyle = 'ISO, YMD'; SET intervalstyle = 'postgres'; SET client_encoding = 'UTF8'; SET \
            standard_conforming_strings = on; SET array_nulls = on;
            SET default_transaction_isolation = 'read committed';
            SELECT set_config('jit', 'off', false) FROM pg_settings WHERE name = 'jit'
            """)
    }

    deinit { PQfinish(handle) }

    /// Does one statement. It is prepared where it is used first.
    /// - Parameter values: as texts, for `$1` and so on.
    /// - Returns: rows of columns as texts.
    @discardableResult
    public func run(_ sql: String, _ values: [String?] = []) throws(FleetFailure) -> [[String?]] {
        try run(Statement(sql, values))
    }

    /// The same with values that are columns.
    func run(_ statement: Statement) throws(FleetFailure) -> [[String?]] {
        let name = try prepare(statement.sql)
        return try finish(send(name, statement)).rows
    }

    /// The same for many rows, each made into something where it lies.
    func run<Item>(_ sql: String, _ values: [String?], _ item: (FleetRow) -> Item?) throws(FleetFailure) -> [Item] {
        let name = try prepare(sql)
        var items: [Item] = []
        _ = try finish(send(name, Statement(sql, values))) { result in
            let count = PQntuples(result)
            items.reserveCapacity(Int(count))
            for row in 0..<count { if let made = item(FleetRow(result, row)) { items.append(made) } }
            return true
        }
        return items
    }

    /// A statement with its values.
    struct Statement {
        var sql: String
        var values: [Value] = []

        /// For `$1` and so on.
        enum Value {
            case text(String?)
            case column(FleetColumn)
        }

        init(_ sql: String, _ values: [String?] = []) { (self.sql, self.values) = (sql, values.map { .text($0) }) }

        init(_ sql: String, values: [Value]) { (self.sql, self.values) = (sql, values) }
    }

    /// - Returns: what libpq says of it.
    private func send(_ name: String, _ statement: Statement) -> Int32 {
        var copies: [UnsafePointer<CChar>?] = [], lengths: [Int32] = [], formats: [Int32] = []
        defer { Self.free(copies) }
        for value in statement.values {
            switch value {
            case .text(let text):
                copies += Self.copies([text])
                lengths.append(0)
                formats.append(0)
            case .column(let column):
                let copy = malloc(column.bytes.count)
                column.bytes.withUnsafeBytes { bytes in
                    if let copy, let base = bytes.baseAddress { memcpy(copy, base, bytes.count) }
                }
                copies.append(copy.map { UnsafePointer($0.assumingMemoryBound(to: CChar.self)) })
                lengths.append(Int32(column.bytes.count))
                formats.append(1)
            }
        }
        return PQsendQueryPrepared(handle, name, Int32(copies.count), copies, lengths, formats, 0)
    }

    /// Does several statements on one way there and back (libpq's pipeline mode). The first that fails ends it: of
    /// those behind it nothing is done.
    /// - Returns: the rows of each, and what it is called when it is done: `INSERT 0 17`.
    func pipeline(_ statements: [Statement]) throws(FleetFailure) -> [(rows: [[String?]], command: String)] {
        var names: [String] = []
        for statement in statements { names.append(try prepare(statement.sql)) }
        guard PQenterPipelineMode(handle) == 1 else { throw lost() }
        for (name, statement) in zip(names, statements) {
            guard send(name, statement) == 1 else { throw lost() }
        }
        guard PQpipelineSync(handle) == 1 else { throw lost() }
        // Not of each: the server's limit does not end a COMMIT that waits for a standby.
        let deadline = ContinuousClock.now + statementLimit + .seconds(2)
        try flush(deadline)
        var results: [(rows: [[String?]], command: String)] = [], failure: FleetFailure?
        // Each ends with nothing; the last word is the synchronisation's.
        reading: while true {
            guard let result = try next(deadline) else { continue }
            defer { PQclear(result) }
            switch PQresultStatus(result) {
            case PGRES_PIPELINE_SYNC: break reading
            case PGRES_PIPELINE_ABORTED: break
            default:
                let (rows, command, trouble) = read(result)
                failure = failure ?? trouble
                results.append((rows, command))
            }
        }
        guard PQexitPipelineMode(handle) == 1 else { throw lost() }
        if PQstatus(handle) == CONNECTION_BAD {
            isBroken = true
            if failure == nil || failure?.kind == .broken { throw lost() }
        }
        if let failure { throw failure }
        guard results.count == statements.count else { throw lost() }
        return results
    }

    private func prepare(_ sql: String) throws(FleetFailure) -> String {
        if let known = prepared[sql] { return known }
        let name = "s\(prepared.count)"
        _ = try finish(PQsendPrepare(handle, name, sql, 0, nil))
        prepared[sql] = name
        return name
    }

    /// Rows as text into a COPY FROM, chunk by chunk until there is none.
    /// - Returns: how many rows it took.
    @discardableResult
    public func copyIn(_ sql: String, _ next: () throws -> [UInt8]?) throws -> Int {
        try begin(copy: sql, as: PGRES_COPY_IN)
        let deadline = ContinuousClock.now + statementLimit
        func send(_ body: () -> Int32) throws {
            while true {
                let sent = body()
                if sent == 1 { break }
                guard sent == 0, Self.wait(PQsocket(handle), POLLOUT, deadline) else { throw lost() }
            }
        }
        do {
            while let chunk = try next() {
                try send {
                    chunk.withUnsafeBytes {
                        PQputCopyData(handle, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count))
                    }
                }
            }
        } catch {
            try send { PQputCopyEnd(handle, "it was given up") }
            _ = try? finish(1)
            throw error
        }
        try send { PQputCopyEnd(handle, nil) }
        return Int(try finish(1).command.split(separator: " ").last ?? "") ?? 0
    }

    /// Rows of a COPY TO, as text, each where it lies, with the end of its line. Whoever does not want the rest throws,
    /// and the connection is of no more use.
    func copyOut(_ sql: String, _ take: (UnsafeRawBufferPointer) throws -> Void) throws {
        try begin(copy: sql, as: PGRES_COPY_OUT)
        while true {
            var row: UnsafeMutablePointer<CChar>?
            let count = PQgetCopyData(handle, &row, 1)
            defer { PQfreemem(row) }
            switch count {
            case 1...:
                do { try take(UnsafeRawBufferPointer(start: row, count: Int(count))) } catch {
                    isBroken = true
                    giveUp()
                    throw error
                }
            case 0:
                guard Self.wait(PQsocket(handle), POLLIN, .now + statementLimit + .seconds(2)) else { throw silent() }
                guard PQconsumeInput(handle) == 1 else { throw lost() }
            case -1:
                _ = try finish(1)
                return
            default: throw lost()
            }
        }
    }

    /// What programs beside this one are to find in their environment, so that they come to the same database: `PGHOST`
    /// and so on.
    public static func environment(_ database: String) throws(FleetFailure) -> [String: String] {
        let connection = try FleetConnection(database)
        guard let options = PQconninfo(connection.handle) else { throw connection.lost() }
        defer { PQconninfoFree(options) }
        var environment: [String: String] = [:], option = options
        while option.pointee.keyword != nil {
            if let variable = option.pointee.envvar, let value = option.pointee.val, value.pointee != 0 {
                environment[String(cString: variable)] = String(cString: value)
            }
            option += 1
        }
        return environment
    }

    private func begin(copy sql: String, as state: ExecStatusType) throws {
        guard PQsendQuery(handle, sql) == 1 else { throw lost() }
        let deadline = ContinuousClock.now + statementLimit + .seconds(2)
        try flush(deadline)
        guard let result = try next(deadline) else { throw lost() }
        defer { PQclear(result) }
        guard PQresultStatus(result) == state else {
            let trouble = read(result).failure
            _ = try? finish(1)
            throw trouble ?? FleetFailure(.broken, "PostgreSQL at \(place) does not copy.")
        }
    }

    /// Waits for what other connections notify of, at most so long.
    /// - Returns: what they said.
    public func notifications(within limit: Duration) throws(FleetFailure) -> [String] {
        var said: [String] = []
        func collect() {
            while let note = PQnotifies(handle) {
                said.append(String(cString: note.pointee.extra))
                PQfreemem(note)
            }
        }
        collect()
        guard said.isEmpty, Self.wait(PQsocket(handle), POLLIN, .now + limit) else { return said }
        guard PQconsumeInput(handle) == 1, PQstatus(handle) != CONNECTION_BAD else { throw lost() }
        collect()
        return said
    }

    /// Does several statements without values.
    public func script(_ sql: String) throws(FleetFailure) { _ = try finish(PQsendQuery(handle, sql)) }

    /// All of it is stored when this returns, or nothing: whatever is thrown takes it back. Only where the connection
    /// breaks during the very last word nobody knows, and what is done again by its identity is done once. A COMMIT
    /// that warns is none: a synchronous standby may not have it.
    public func transaction<Result>(_ body: () throws -> Result) throws -> Result {
        try script("BEGIN")
        let result: Result
        do { result = try body() } catch {
            if !isBroken { try? script("ROLLBACK") }
            throw error
        }
        warnings.last = nil
        try checkCommit(finish(PQsendQuery(handle, "COMMIT")).command)
        return result
    }

    /// A transaction whose first word is a `BEGIN` in the body itself, and whose last a `commit`.
    func committing<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch {
            if !isBroken { try? script("ROLLBACK") }
            throw error
        }
    }

    /// The same for statements that need nothing of what others find: all of them, and the COMMIT, on one way there and
    /// back. To be called within `BEGIN`.
    func commit(_ statements: [Statement]) throws(FleetFailure) -> [(rows: [[String?]], command: String)] {
        warnings.last = nil
        var results = try pipeline(statements + [Statement("COMMIT")])
        try checkCommit(results.removeLast().command)
        return results
    }

    private func checkCommit(_ command: String) throws(FleetFailure) {
        guard command == "COMMIT" else {
            throw FleetFailure(.broken, "PostgreSQL at \(place) took the transaction back.")
        }
        // "Committed locally, but might not have been replicated": whoever cancels the waiting for a standby gets a
        // COMMIT all the same.
        if let warning = warnings.last?.split(separator: "\n").first {
            throw FleetFailure(
                .slow,
                """
                PostgreSQL at \(place) committed with a warning (\(warning.prefix(300))). See whether its standby \
                gets on; what was sent may be sent again.
                """
            )
        }
    }

    /// The last thing that PostgreSQL warned of.
    private final class Warnings {
        var last: String?
    }

    /// How the database keeps texts: `UTF8`, or something that cannot hold every name.
    var encoding: String { PQparameterStatus(handle, "server_encoding").map { String(cString: $0) } ?? "" }

    // MARK: - Waiting

    /// - Parameter take: takes what was found, and says so; otherwise it is returned.
    private func finish(_ sent: Int32, _ take: (OpaquePointer) -> Bool = { _ in false }) throws(FleetFailure) -> (
        rows: [[String?]], command: String
    ) {
        guard sent == 1 else { throw lost() }
        // The server ends a statement itself; this is for a server that says nothing any more.
        let deadline = ContinuousClock.now + statementLimit + .seconds(2)
        try flush(deadline)
        var rows: [[String?]] = [], command = "", failure: FleetFailure?
        while let result = try next(deadline) {
            defer { PQclear(result) }
            if PQresultStatus(result) == PGRES_TUPLES_OK, take(result) { continue }
            let (read, name, trouble) = read(result)
            if PQresultStatus(result) == PGRES_TUPLES_OK { rows = read }
            failure = failure ?? trouble
            command = name
        }
        if PQstatus(handle) == CONNECTION_BAD {
            isBroken = true
            if failure == nil || failure?.kind == .broken { throw lost() }
        }
        if let failure { throw failure }
        return (rows, command)
    }

    private func flush(_ deadline: ContinuousClock.Instant) throws(FleetFailure) {
        var flushed = PQflush(handle)
        while flushed == 1 {
            guard Self.wait(PQsocket(handle), POLLIN | POLLOUT, deadline) else { throw silent() }
            guard PQconsumeInput(handle) == 1 else { throw lost() }
            flushed = PQflush(handle)
        }
        guard flushed == 0 else { throw lost() }
    }

    private func next(_ deadline: ContinuousClock.Instant) throws(FleetFailure) -> OpaquePointer? {
        while PQisBusy(handle) == 1 {
            guard Self.wait(PQsocket(handle), POLLIN, deadline) else { throw silent() }
            guard PQconsumeInput(handle) == 1 else { throw lost() }
        }
        guard PQstatus(handle) != CONNECTION_BAD || PQpipelineStatus(handle) == PQ_PIPELINE_OFF else { throw lost() }
        return PQgetResult(handle)
    }

    private func read(_ result: OpaquePointer) -> (rows: [[String?]], command: String, failure: FleetFailure?) {
        let command = PQcmdStatus(result).map { String(cString: $0) } ?? ""
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK: return (Self.rows(result), command, nil)
        case PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: return ([], command, nil)
        default:
            let state = PQresultErrorField(result, Int32(UInt8(ascii: "C"))).map { String(cString: $0) } ?? ""
            let words = PQresultErrorField(result, Int32(UInt8(ascii: "M"))) ?? PQresultErrorMessage(result)
            return ([], command, FleetFailure(state: state, words.map { String(cString: $0) } ?? "", at: place))
        }
    }

    private static func copies(_ texts: [String?]) -> [UnsafePointer<CChar>?] {
        texts.map { text in
            guard let text, let copy = strdup(text) else { return nil }
            return UnsafePointer(copy)
        }
    }

    private static func free(_ copies: [UnsafePointer<CChar>?]) {
        for copy in copies { Glibc.free(UnsafeMutableRawPointer(mutating: copy)) }
    }

    private static func rows(_ result: OpaquePointer) -> [[String?]] {
        let columns = PQnfields(result)
        return (0..<PQntuples(result)).map { row in
            (0..<columns).map { column in
                guard PQgetisnull(result, row, column) == 0, let value = PQgetvalue(result, row, column) else {
                    return nil
                }
                return String(
                    decoding: UnsafeRawBufferPointer(start: value, count: Int(PQgetlength(result, row, column))),
                    as: UTF8.self)
            }
        }
    }

    private func lost() -> FleetFailure {
        isBroken = true
        let said = String(cString: PQerrorMessage(handle)).split(separator: "\n").first.map(String.init) ?? "no words"
        return FleetFailure(
            .unreachable, "The connection to PostgreSQL at \(place) broke (\(said.prefix(300))). See whether it runs.")
    }

    private func silent() -> FleetFailure {
        isBroken = true
        giveUp()
        return FleetFailure(
            .slow,
            """
            PostgreSQL at \(place) says nothing for \(statementLimit.components.seconds + 2) s. See whether it \
            runs, and the network on the way.
            """
        )
    }

    /// A COMMIT that waits for a standby goes on when nobody waits for it any more, and keeps its place at the server:
    /// whoever comes again would take all of them. It is asked to end, by a thread of its own, since a server that
    /// hangs does not answer that, either.
    private func giveUp() {
        guard let word = PQgetCancel(handle) else { return }
        let last = LastWord(word: word)
        Thread.detachNewThread {
            var trouble = [CChar](repeating: 0, count: 256)
            _ = PQcancel(last.word, &trouble, Int32(trouble.count))
            PQfreeCancel(last.word)
        }
    }

    /// It is its thread's alone.
    private struct LastWord: @unchecked Sendable {
        let word: OpaquePointer
    }

    /// - Returns: whether there is something before the deadline.
    private static func wait(_ socket: Int32, _ events: Int32, _ deadline: ContinuousClock.Instant) -> Bool {
        guard socket >= 0 else { return true }
        while true {
            let rest = deadline - .now
            guard rest > .zero else { return false }
            var one = pollfd(fd: socket, events: Int16(events), revents: 0)
            let milliseconds = min(
                rest.components.seconds * 1000 + rest.components.attoseconds / 1_000_000_000_000_000 + 1, 3_600_000)
            let found = poll(&one, 1, Int32(milliseconds))
            if found > 0 || (found < 0 && errno != EINTR) { return true }
        }
    }

    /// How many places the words name, or PGHOST where they name none: libpq tries one after the other.
    private static func places(_ options: UnsafeMutablePointer<PQconninfoOption>) -> Int {
        var most = 1, isNamed = false, option = options
        while let keyword = option.pointee.keyword {
            if ["host", "hostaddr"].contains(String(cString: keyword)), let value = option.pointee.val {
                isNamed = true
                most = max(most, String(cString: value).split(separator: ",", omittingEmptySubsequences: false).count)
            }
            option += 1
        }
        return isNamed
            ? most
            : getenv("PGHOST").map { String(cString: $0).split(separator: ",", omittingEmptySubsequences: false).count }
                ?? 1
    }

    private static func place(_ handle: OpaquePointer) -> String {
        func text(_ value: UnsafeMutablePointer<CChar>?) -> String { value.map { String(cString: $0) } ?? "" }
        let host = text(PQhost(handle)), port = text(PQport(handle)), name = text(PQdb(handle))
        return
            "\(host.isEmpty ? "this machine" : host)\(port.isEmpty ? "" : ":\(port)")\(name.isEmpty ? "" : "/\(name)")"
    }

    /// A connection that was refused has words only, and no state.
    private static func refusal(_ handle: OpaquePointer, _ place: String) -> FleetFailure {
        let said = String(cString: PQerrorMessage(handle)).trimmingCharacters(in: .whitespacesAndNewlines).replacing(
            "\n", with: " ")
        let state =
            if said.contains("too many clients") || said.contains("too many connections")
                || said.contains("remaining connection slots")
            {
                "53300"
            } else if ["password", "authentication", "no pg_hba.conf entry", "role \""].contains(where: said.contains) {
                "28000"
            } else if said.contains("the database system is") { "57P03" } else { "" }
        guard state.isEmpty else { return FleetFailure(state: state, said, at: place) }
        if said.contains("database \""), said.contains("does not exist") {
            return FleetFailure(
                .wrongUse,
                "There is no such database at \(place) (\(said.prefix(300))). Create it, or name another one.")
        }
        return FleetFailure(
            .unreachable,
            """
            PostgreSQL at \(place) cannot be reached (\(said.prefix(300))). See whether it runs, and whether this \
            is its place.
            """
        )
    }
}
