import Foundation
import GRDB
import TrackerCore

/// Sessions and their entries as rows.
enum SessionTable {
    static func active(_ db: Database) throws -> WaterlineSession? {
        try Row.fetchOne(try db.cachedStatement(sql: "SELECT * FROM session WHERE isActive = 1")).map(session)
    }

    static func find(_ id: String, _ db: Database) throws -> WaterlineSession? {
        try Row.fetchOne(db, sql: "SELECT * FROM session WHERE id = ?", arguments: [id]).map(session)
    }

    static func session(_ row: Row) -> WaterlineSession {
        let summary: String? = row["computedSummary"]
        return WaterlineSession(
            id: row["id"], userID: row["userId"], startTime: Instant(milliseconds: row["startTime"]),
            endTime: (row["endTime"] as Int64?).map(Instant.init(milliseconds:)),
            computedSummary: summary.flatMap { try? JSONDecoder().decode(SessionSummary.self, from: Data($0.utf8)) },
            ruleN: row["ruleN"], sealed: row["sealed"])
    }

    /// Writes an ended or active session back and queues it for the server.
    static func save(_ session: WaterlineSession, _ settings: SessionRules?, _ context: WriteContext, _ db: Database) throws {
        let summary = try session.computedSummary.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
        let device = try ProfileTable.findOrMake(db, context).deviceID
        try db.execute(sql: """
            UPDATE session SET startTime = :start, endTime = :end, isActive = :active, sealed = :sealed, ruleN = :ruleN,
                bottleWater = coalesce(:mode, bottleWater), waterOz = coalesce(:oz, waterOz),
                threshold = coalesce(:threshold, threshold), computedSummary = :summary, updatedAt = :now,
                deviceId = :device
            WHERE id = :id
            """, arguments: [
                "start": session.startTime.milliseconds, "end": session.endTime?.milliseconds,
                "active": session.isActive, "sealed": session.sealed, "ruleN": session.ruleN,
                "mode": settings?.bottleWater.rawValue, "oz": settings?.waterOz, "threshold": settings?.threshold,
                "summary": summary, "now": context.now.milliseconds, "device": device, "id": session.id,
            ])
        try OutboxWriter.put(.session(session.id), op: .upsertSession, at: context.now, db)
    }

    static func log(_ row: Row) -> LogEntry {
        LogEntry(
            id: row["id"], sessionID: row["sessionId"], timestamp: Instant(milliseconds: row["timestamp"]),
            kind: LogEntry.Kind(rawValue: row["type"]) ?? .water,
            drinkType: (row["drinkType"] as String?).flatMap(DrinkType.init(rawValue:)), sizeOz: row["sizeOz"],
            abv: row["abv"], standardDrinkEstimate: row["standardDrinkEstimate"], presetID: row["presetId"],
            amountOz: row["amountOz"], source: LogSource(rawValue: row["source"]),
            updatedAt: Instant(milliseconds: row["updatedAt"]), seq: row["seq"])
    }

    /// The entered logs of a session, in the order of time.
    static func enteredLogs(_ id: String, _ db: Database) throws -> [LogEntry] {
        let statement = try db.cachedStatement(
            sql: "SELECT * FROM log_entry WHERE sessionId = ? AND deleted = 0 ORDER BY timestamp, seq")
        return try Row.fetchAll(statement, arguments: [id]).map(log)
    }
}

extension SessionTable {
    /// The bottle's sips from the session's start to its end, or to now.
    static func sips(of session: WaterlineSession, at now: Instant, _ db: Database) throws -> [Sip] {
        try DrinkTable.drinks(from: session.startTime, through: session.endTime ?? now, db)
            .filter { $0.source == .bottle }.map { Sip(key: $0.key, at: $0.at, ml: $0.ml) }
    }

    /// Ids of derived waters that a person took out.
    static func excluded(_ id: String, _ db: Database) throws -> Set<String> {
        try String.fetchSet(db, sql: "SELECT id FROM excluded_log WHERE sessionId = ?", arguments: [id])
    }
}

/// The settings that a session's derived waters and warning rest on: live while it is active, frozen at its end.
struct SessionRules {
    var bottleWater: BottleWaterMode
    var waterOz: Int
    var threshold: Int

    init(_ settings: Settings) {
        bottleWater = settings.bottleWater
        waterOz = settings.defaultWaterOz
        threshold = settings.warningThreshold
    }

    /// The rules of a stored session: what was frozen at its end, today's settings for the rest.
    init(of session: WaterlineSession, _ db: Database) throws {
        self.init(Settings.restored(from: try SettingTable.texts(db)).settings)
        guard !session.isActive else { return }
        let row = try Row.fetchOne(
            db, sql: "SELECT bottleWater, waterOz, threshold FROM session WHERE id = ?", arguments: [session.id])
        bottleWater = (row?["bottleWater"] as String?).flatMap(BottleWaterMode.init(rawValue:)) ?? bottleWater
        waterOz = row?["waterOz"] ?? waterOz
        threshold = row?["threshold"] ?? threshold
    }
}
