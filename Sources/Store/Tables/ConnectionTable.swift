import GRDB
import TrackerCore

/// What came of the last attempt to reach a bottle, and the bottle that was polled last.
enum ConnectionTable {
    static func status(_ db: Database) throws -> ConnectionStatus {
        var status = ConnectionStatus()
        if let problem = try problem(db) { status.change(to: .error(problem)) }
        return status
    }

    static func problem(_ db: Database) throws -> ConnectionProblem? {
        let row = try Row.fetchOne(try db.cachedStatement(sql: "SELECT problem, message FROM connection_state"))
        // A code of a later version, or of nobody's: the next poll writes over it.
        return try row.map { try ConnectionProblem(code: $0.checked("problem"), message: $0.checked("message")) } ?? nil
    }

    /// The bottle that was polled last.
    static func bottle(_ db: Database) throws -> BottleStanding? {
        let row = try Row.fetchOne(
            try db.cachedStatement(
                sql: """
                    SELECT name, advertisedName, model, batteryPercent, clockDriftSeconds, lastPoll, lastCompletePoll \
                    FROM bottle
                    WHERE lastPoll IS NOT NULL AND isOwn ORDER BY lastPoll DESC LIMIT 1
                    """))
        // One that cannot be read is told by the doctor, and says nothing here.
        return try [row].compactMap { $0 }.readable { row in
            BottleStanding(
                name: try row.checked("name"), advertisedName: try row.checked("advertisedName"),
                model: try row.checked("model"),
                batteryPercent: try row.checked("batteryPercent"),
                clockDriftSeconds: try row.checked("clockDriftSeconds"),
                lastPoll: try row.instantIfAny("lastPoll"), lastCompletePoll: try row.instantIfAny("lastCompletePoll"))
        }.first
    }
}
