import GRDB
import TrackerCore

extension TrackerStore {
    /// Records the result of the last attempt to connect; `nil` if a poll succeeded. Writes only a change.
    package func noteConnection(_ problem: ConnectionProblem?, at now: Instant) throws {
        if let known = try? read({ try ConnectionTable.problem($0) }), known == problem { return }
        try write { db in
            guard let problem else { return try db.execute(sql: "DELETE FROM connection_state") }
            try db.run(
                "INSERT OR REPLACE INTO connection_state (only, problem, message, since) VALUES (1, ?, ?, ?)",
                [problem.code, problem.message, now.milliseconds])
        }
    }
}

enum ConnectionTable {
    static func status(_ db: Database) throws -> ConnectionStatus {
        var status = ConnectionStatus()
        if let problem = try problem(db) { status.change(to: .error(problem)) }
        return status
    }

    static func problem(_ db: Database) throws -> ConnectionProblem? {
        let row = try Row.fetchOne(try db.cachedStatement(sql: "SELECT problem, message FROM connection_state"))
        // Ignores an unknown code, for example of a later version. The next poll replaces it.
        return try row.map { try ConnectionProblem(code: $0.checked("problem"), message: $0.checked("message")) } ?? nil
    }

    static func bottle(_ db: Database) throws -> BottleCondition? {
        let row = try Row.fetchOne(
            try db.cachedStatement(
                sql: """
                    SELECT name, advertisedName, model, batteryPercent, clockDriftSeconds, lastPoll, lastCompletePoll
                    FROM bottle WHERE lastPoll IS NOT NULL AND isOwn ORDER BY lastPoll DESC LIMIT 1
                    """))
        // Skips an unreadable row. `doctor` reports it.
        return try [row].compactMap { $0 }.readable { row in
            BottleCondition(
                name: try row.checked("name"), advertisedName: try row.checked("advertisedName"),
                model: try row.checked("model"),
                batteryPercent: try row.checked("batteryPercent"),
                clockDriftSeconds: try row.checked("clockDriftSeconds"),
                lastPoll: try row.instantIfAny("lastPoll"), lastCompletePoll: try row.instantIfAny("lastCompletePoll"))
        }.first
    }
}

extension TrackerStore {
    /// The last light that was written to the bottle; `off` if there is none.
    package func light(ofBottle bottle: String) throws -> BottleLight {
        try read { db in
            let id = try BottleTable.known(bottle, db)
            return try String.fetchOne(db, sql: "SELECT light FROM bottle WHERE id = ?", arguments: [id]).flatMap(
                BottleLight.init) ?? .off
        }
    }

    package func noteLight(_ light: BottleLight, ofBottle bottle: String) throws {
        try write { db in
            guard let id = try BottleTable.known(bottle, db) else { return }
            try db.run("UPDATE bottle SET light = ? WHERE id = ?", [light.rawValue, id])
        }
    }
}
