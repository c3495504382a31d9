import CLibPQ
import DBus
import Glibc

/// A connection to PostgreSQL over libpq. Its calls block a queue of the connection, and no thread of the service.
actor PostgresConnection {
    private nonisolated let executor = QueueExecutor("postgres")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Owns libpq's object.
    private final class Handle {
        let pointer: OpaquePointer
        init(_ pointer: OpaquePointer) { self.pointer = pointer }
        deinit { PQfinish(pointer) }
    }

    private var handle: Handle?
    /// The time limit of a statement. The server's own limit is shorter, so that it reports a slow statement itself.
    static let limit = Duration.seconds(30)
    static let serverLimit = "20s"

    /// Connects, with a limit for each host.
    func open(_ plan: PostgresPlan) throws {
        let parameters = plan.parameters
        let texts = (parameters.map(\.name) + parameters.map(\.value)).map { strdup($0) }
        defer { texts.forEach { free($0) } }
        let names = texts.prefix(parameters.count).map { UnsafePointer($0) } + [nil]
        let values = texts.suffix(parameters.count).map { UnsafePointer($0) } + [nil]
        guard let pointer = PQconnectdbParams(names, values, 1) else { throw PostgresFailure("out of memory") }
        let handle = Handle(pointer)
        guard PQstatus(pointer) == CONNECTION_OK else { throw Self.failure(pointer) }
        guard PQsetnonblocking(pointer, 1) == 0 else { throw Self.failure(pointer) }
        PQsetNoticeProcessor(pointer, { _, _ in }, nil)
        self.handle = handle
    }

    func close() { handle = nil }

    /// Runs statements without parameters, for example a transaction's begin. Returns the rows of the last one.
    @discardableResult
    func run(_ script: String, limit: Duration = limit) throws -> [[String?]] {
        try execute(limit) { PQsendQuery($0, script) }
    }

    /// Runs one statement.
    @discardableResult
    func run(_ statement: String, _ parameters: [PostgresParameter]) throws -> [[String?]] {
        try execute(Self.limit) { pointer in
            var lengths = parameters.map { Int32($0.bytes?.count ?? 0) }
            var (types, formats) = (parameters.map(\.type), [Int32](repeating: 1, count: parameters.count))
            // One buffer, to which the values point.
            let buffer: [UInt8] = parameters.flatMap { $0.bytes ?? [] } + [0]
            return buffer.withUnsafeBytes { bytes in
                var offset = 0
                var values = parameters.map { parameter -> UnsafePointer<CChar>? in
                    guard let count = parameter.bytes?.count else { return nil }
                    defer { offset += count }
                    return bytes.baseAddress?.advanced(by: offset).assumingMemoryBound(to: CChar.self)
                }
                return PQsendQueryParams(
                    pointer, statement, Int32(parameters.count), &types, &values, &lengths, &formats, 0)
            }
        }
    }

    /// The verifier of a password for CREATE ROLE, so that the password is in no log of the server.
    func verifier(_ password: String, role: String) throws -> String {
        guard let pointer = handle?.pointer else { throw PostgresFailure("the connection is closed") }
        guard let text = PQencryptPasswordConn(pointer, password, role, "scram-sha-256") else {
            throw Self.failure(pointer)
        }
        defer { PQfreemem(text) }
        return String(cString: text)
    }

    func quoted(_ text: String, isName: Bool = false) throws -> String {
        guard let pointer = handle?.pointer else { throw PostgresFailure("the connection is closed") }
        let quoted =
            isName
            ? PQescapeIdentifier(pointer, text, text.utf8.count) : PQescapeLiteral(pointer, text, text.utf8.count)
        guard let quoted else { throw Self.failure(pointer) }
        defer { PQfreemem(quoted) }
        return String(cString: quoted)
    }

    // MARK: - Helpers

    /// Sends, and waits for all results. After an error of the connection or a time limit it is closed.
    private func execute(_ limit: Duration, _ send: (OpaquePointer) -> Int32) throws -> [[String?]] {
        guard let pointer = handle?.pointer else { throw PostgresFailure("the connection is closed") }
        let deadline = ContinuousClock.now + limit
        var rows: [[String?]] = []
        do {
            guard send(pointer) == 1 else { throw Self.failure(pointer) }
            while true {
                let unsent = PQflush(pointer)
                guard unsent >= 0 else { throw Self.failure(pointer) }
                if unsent > 0 || PQisBusy(pointer) == 1 {
                    try wait(pointer, isSending: unsent > 0, until: deadline)
                    guard PQconsumeInput(pointer) == 1 else { throw Self.failure(pointer) }
                    continue
                }
                guard let result = PQgetResult(pointer) else { return rows }
                defer { PQclear(result) }
                rows = try Self.rows(result)
            }
        } catch {
            handle = nil
            throw error
        }
    }

    private func wait(_ pointer: OpaquePointer, isSending: Bool, until deadline: ContinuousClock.Instant) throws {
        var descriptor = pollfd(
            fd: PQsocket(pointer), events: Int16(POLLIN) | (isSending ? Int16(POLLOUT) : 0), revents: 0)
        while true {
            try Task.checkCancellation()
            guard ContinuousClock.now < deadline else { throw PostgresFailure(PostgresFailure.timeout) }
            let ready = poll(&descriptor, 1, 100)
            if ready > 0 { return }
            guard ready == 0 || errno == EINTR else { throw PostgresFailure(String(cString: strerror(errno))) }
        }
    }

    private static func rows(_ result: OpaquePointer) throws -> [[String?]] {
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
            return (0..<PQntuples(result)).map { row in
                (0..<PQnfields(result)).map { column in
                    PQgetisnull(result, row, column) == 1 ? nil : String(cString: PQgetvalue(result, row, column))
                }
            }
        default:
            // The fields of pg_diag: the message and SQLSTATE.
            let text = PQresultErrorField(result, Int32(UInt8(ascii: "M"))).map { String(cString: $0) }
            let sqlState = PQresultErrorField(result, Int32(UInt8(ascii: "C"))).map { String(cString: $0) }
            throw PostgresFailure(text ?? String(cString: PQresultErrorMessage(result)), sqlState: sqlState)
        }
    }

    private static func failure(_ pointer: OpaquePointer) -> PostgresFailure {
        PostgresFailure(String(cString: PQerrorMessage(pointer)))
    }
}
