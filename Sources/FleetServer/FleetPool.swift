import Dispatch
import FleetStore
import Synchronization

/// Connections to PostgreSQL, so many at most. Who finds all of them busy is told so at once, or stands in line.
final class FleetPool: Sendable {
    private let database: String
    private let limit: Int
    /// Each is used by one thread at a time.
    private struct Line: @unchecked Sendable {
        let connection: FleetConnection
    }

    private let state = Mutex<
        (idle: [Line], used: Int, shares: [String: Int], line: [CheckedContinuation<Bool, Never>])
    >(([], 0, [:], []))
    private let queue = DispatchQueue(label: "postgresql", attributes: .concurrent)

    init(_ database: String, limit: Int) { (self.database, self.limit) = (database, limit) }

    /// All connections are in use.
    struct Busy: Error {}

    /// Holds a place for as long as it takes.
    func withPlace<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        let isFree = state.withLock { state in
            guard state.used < limit else { return false }
            state.used += 1
            return true
        }
        guard isFree else { throw Busy() }
        defer { release() }
        return try await body()
    }

    /// So many may wait for a place: one for each who watches, and some who look.
    private static let lineLimit = 1000

    /// The same for what is soon over: who finds no place waits for one, behind those who came before.
    func withPlaceInLine<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        let isRoom = await withCheckedContinuation { (turn: CheckedContinuation<Bool, Never>) in
            let now: Bool? = state.withLock { state in
                if state.used < limit {
                    state.used += 1
                    return true
                }
                guard state.line.count < Self.lineLimit else { return false }
                state.line.append(turn)
                return nil
            }
            if let now { turn.resume(returning: now) }
        }
        guard isRoom else { throw Busy() }
        defer { release() }
        return try await body()
    }

    /// Hands the place to whoever waits longest.
    private func release() {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard !state.line.isEmpty else {
                state.used -= 1
                return nil
            }
            return state.line.removeFirst()
        }
        next?.resume(returning: true)
    }

    /// To be called by who holds a place: a quarter of all are for one holder at most, so that nobody who is slow is in
    /// the way of all others.
    func withShare<Result: Sendable>(of holder: String, _ body: () async throws -> Result) async throws -> Result {
        let isFree = state.withLock { state in
            guard state.shares[holder, default: 0] < max(1, limit / 4) else { return false }
            state.shares[holder, default: 0] += 1
            return true
        }
        guard isFree else { throw Busy() }
        defer {
            state.withLock { state in
                let rest = state.shares[holder, default: 1] - 1
                state.shares[holder] = rest > 0 ? rest : nil
            }
        }
        return try await body()
    }

    /// To be called by who holds a place. What is done has to be good when it is done twice: a connection that broke
    /// while nobody used it is replaced.
    func use<Result: Sendable>(_ body: @escaping @Sendable (FleetStore) throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Swift.Result { try self.wait(body) }) }
        }
    }

    private func wait<Result>(_ body: (FleetStore) throws -> Result) throws -> Result {
        if let line = state.withLock({ $0.idle.popLast() }) {
            do { return try attempt(line, body) } catch let failure as FleetFailure
                where line.connection.isBroken && failure.kind == .unreachable
            {}
        }
        return try attempt(Line(connection: try FleetConnection(database)), body)
    }

    private func attempt<Result>(_ line: Line, _ body: (FleetStore) throws -> Result) throws -> Result {
        // A standby that was left behind may have become another's: who may only read is asked for anew.
        var isGood = true
        defer { if isGood, !line.connection.isBroken { state.withLock { $0.idle.append(line) } } }
        do { return try body(FleetStore(line.connection)) } catch let failure as FleetFailure {
            isGood = ![.readOnly, .broken].contains(failure.kind)
            throw failure
        }
    }
}
