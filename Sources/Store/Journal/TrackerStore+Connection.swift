import GRDB
import TrackerCore

extension TrackerStore {
    /// Remembers what came of the last attempt to reach a bottle; `nil`: a poll succeeded. Writes only where that has
    /// changed.
    package func noteConnection(_ problem: ConnectionProblem?, at now: Instant) throws {
        if let known = try? read({ try ConnectionTable.problem($0) }), known == problem { return }
        try write { db in
            guard let problem else { return try db.execute(sql: "DELETE FROM connection_state") }
            try db.execute(
                sql: "INSERT OR REPLACE INTO connection_state (only, problem, message, since) VALUES (1, ?, ?, ?)",
                arguments: [problem.code, problem.message, now.milliseconds])
        }
    }
}
