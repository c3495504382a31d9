import GRDB
package import TrackerCore

extension TrackerStore {
    /// Records the result of the last attempt to connect; `nil` if a poll succeeded. Writes only a change.
    package func recordConnection(_ problem: ConnectionProblem?, at now: Instant) throws {
        if let known = try? read(ConnectionTable.problem), known == problem { return }
        try write { db in
            guard let problem else { return try db.run("DELETE FROM connection_state") }
            try db.run(
                "INSERT OR REPLACE INTO connection_state (only, problem, message, since) VALUES (1, ?, ?, ?)",
                [problem.kind.rawValue, problem.message, now])
        }
    }

    /// The last light that was written to the bottle; `off` if there is none.
    package func light(ofBottle bottle: String) throws -> BottleLight {
        try read { db in
            let id = try BottleTable.find(bottle, db)
            return try db.first("SELECT light FROM bottle WHERE id = ?", [id]).flatMap(BottleLight.init) ?? .off
        }
    }

    package func recordLight(_ light: BottleLight, ofBottle bottle: String) throws {
        try write { db in
            guard let id = try BottleTable.find(bottle, db) else { return }
            try db.run("UPDATE bottle SET light = ? WHERE id = ?", [light.rawValue, id])
        }
    }
}

enum ConnectionTable {
    static func problem(_ db: Database) throws -> ConnectionProblem? {
        let row = try Row.fetchOne(db.cachedStatement(sql: "SELECT problem, message FROM connection_state"))
        // Ignores an unknown code, for example of a later version. The next poll replaces it.
        return try row.flatMap { row in
            try ConnectionProblem(code: row.decode(forColumn: "problem"), message: row.decode(forColumn: "message"))
        }
    }

    static func lastPolledBottle(_ db: Database) throws -> BottleCondition? {
        try db.first("SELECT * FROM bottle WHERE lastPoll IS NOT NULL AND isOwn ORDER BY lastPoll DESC LIMIT 1")
    }
}

extension BottleCondition: FetchableRecord {}
