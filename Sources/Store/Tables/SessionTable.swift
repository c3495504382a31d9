import Foundation
import GRDB
import TrackerCore

/// Sessions and their entries as rows.
enum SessionTable {
    static func active(_ db: Database) throws -> WaterlineSession? {
        try Row.fetchAll(try db.cachedStatement(sql: "SELECT * FROM session WHERE isActive = 1")).readable(session)
            .first
    }

    static func find(_ id: String, _ db: Database) throws -> WaterlineSession? {
        try Row.fetchAll(db, sql: "SELECT * FROM session WHERE id = ?", arguments: [id]).readable(session).first
    }

    /// - Throws: `UnreadableRow`.
    static func session(_ row: Row) throws -> WaterlineSession {
        let summary: String? = try row.checked("computedSummary")
        return WaterlineSession(
            id: try row.checked("id"), userID: try row.checked("userId"), startTime: try row.instant("startTime"),
            endTime: try row.instantIfAny("endTime"),
            computedSummary: summary.flatMap { try? JSONDecoder().decode(SessionSummary.self, from: Data($0.utf8)) },
            ruleN: try row.checkedIfAny("ruleN", in: SessionRules.storable), sealed: try row.checked("sealed"))
    }

    /// Writes an ended or active session back and queues it for the server.
    static func save(_ session: WaterlineSession, _ settings: SessionRules?, _ context: WriteContext, _ db: Database)
        throws
    {
        let summary = try session.computedSummary.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
        let device = try ProfileTable.findOrMake(db, context).deviceID
        try db.execute(
            sql: """
                UPDATE session SET startTime = :start, endTime = :end, isActive = :active, sealed = :sealed, ruleN = \
                :ruleN,
                    bottleWater = coalesce(:mode, bottleWater), waterOz = coalesce(:oz, waterOz),
                    threshold = coalesce(:threshold, threshold), computedSummary = :summary, updatedAt = max(:now, \
                updatedAt + 1),
                    deviceId = :device
                WHERE id = :id
                """,
            arguments: [
                "start": session.startTime.milliseconds, "end": session.endTime?.milliseconds,
                "active": session.isActive, "sealed": session.sealed, "ruleN": session.ruleN,
                "mode": settings?.bottleWater.rawValue, "oz": settings?.waterOz, "threshold": settings?.threshold,
                "summary": summary, "now": context.now.milliseconds, "device": device, "id": session.id,
            ])
        try OutboxWriter.put(.session(session.id), op: .upsertSession, at: context.now, db)
    }

    /// - Throws: `UnreadableRow`.
    static func log(_ row: Row) throws -> LogEntry {
        LogEntry(
            id: try row.checked("id"), sessionID: try row.checked("sessionId"), timestamp: try row.instant("timestamp"),
            kind: LogEntry.Kind(rawValue: try row.checked("type")) ?? .water,
            drinkType: try row.checked("drinkType", String?.self).flatMap(DrinkType.init(rawValue:)),
            sizeOz: try row.amountIfAny("sizeOz"), abv: try row.amountIfAny("abv"),
            standardDrinkEstimate: try row.amountIfAny("standardDrinkEstimate"), presetID: try row.checked("presetId"),
            amountOz: try row.amountIfAny("amountOz"), source: LogSource(rawValue: try row.checked("source")),
            updatedAt: try row.instant("updatedAt"), seq: try row.checked("seq"))
    }

    /// The entered logs of a session, in the order of time.
    static func enteredLogs(_ id: String, _ db: Database) throws -> [LogEntry] {
        let statement = try db.cachedStatement(
            sql: "SELECT * FROM log_entry WHERE sessionId = ? AND deleted = 0 ORDER BY timestamp, seq")
        return try Row.fetchAll(statement, arguments: [id]).readable(log)
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

    /// What any of the numbers may be in a row; anything else reads as the setting.
    static let storable = 1...10_000

    init(_ settings: Settings) {
        bottleWater = settings.bottleWater
        waterOz = settings.defaultWaterOz
        threshold = settings.warningThreshold
    }

    /// The rules of a stored session: what was frozen at its end, today's settings for the rest.
    init(of session: WaterlineSession, _ db: Database) throws {
        self.init(try SettingTable.settings(db))
        guard !session.isActive else { return }
        let row = try Row.fetchOne(
            db, sql: "SELECT bottleWater, waterOz, threshold FROM session WHERE id = ?", arguments: [session.id])
        bottleWater =
            (try? row?.checked("bottleWater", String.self)).flatMap(BottleWaterMode.init(rawValue:)) ?? bottleWater
        waterOz = (try? row?.checkedIfAny("waterOz", in: Self.storable)) ?? waterOz
        threshold = (try? row?.checkedIfAny("threshold", in: Self.storable)) ?? threshold
    }
}
