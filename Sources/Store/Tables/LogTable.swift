import GRDB
import TrackerCore

enum LogTable {
    static func insert(_ log: LogEntry, _ deviceID: String, _ db: Database) throws -> Int64 {
        try db.execute(
            sql: """
                INSERT INTO log_entry (id, sessionId, timestamp, type, drinkType, sizeOz, abv, standardDrinkEstimate, \
                presetId,
                    amountOz, source, updatedAt, deviceId) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                log.id, log.sessionID, log.timestamp.milliseconds, log.kind.rawValue, log.drinkType?.rawValue,
                log.sizeOz,
                log.abv, log.standardDrinkEstimate, log.presetID, log.amountOz, log.source.rawValue,
                log.updatedAt.milliseconds, deviceID,
            ])
        return db.lastInsertedRowID
    }

    static func find(_ name: String, _ db: Database) throws -> LogEntry? {
        let number = (name.first == "w" ? Int64(name.dropFirst()) : nil) ?? -1
        return try Row.fetchOne(
            db, sql: "SELECT * FROM log_entry WHERE deleted = 0 AND (id = ? OR seq = ?)", arguments: [name, number]
        ).map(SessionTable.log)
    }

    static func log(_ seq: some BinaryInteger, _ db: Database) throws -> LogEntry {
        guard let row = try Row.fetchOne(db, sql: "SELECT * FROM log_entry WHERE seq = ?", arguments: [Int64(seq)])
        else {
            preconditionFailure("the entry \(seq) was written in this very transaction")
        }
        return try SessionTable.log(row)
    }
}
