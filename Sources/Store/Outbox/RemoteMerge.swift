import Foundation
import GRDB
import TrackerCore

/// What a merge made of the server's rows.
public struct MergeOutcome: Hashable, Sendable {
    /// Newer than ours, taken.
    public var taken = 0
    /// Ours is as new or newer.
    public var kept = 0
    /// Not understood, or against a rule of the store; ours stays.
    public var refused = 0

    public init() {}
}

/// Things that come back from the server.
public enum RemoteEntity: String, Sendable, CaseIterable {
    case session, logEntry, preset

    var table: String {
        switch self {
        case .session: "session"
        case .logEntry: "log_entry"
        case .preset: "preset"
        }
    }

    /// The columns that travel; `id`, `updatedAt` and `deviceId` always do.
    var columns: [String] {
        switch self {
        case .session: ["userId", "startTime", "endTime", "isActive", "sealed", "ruleN", "bottleWater", "waterOz", "threshold", "computedSummary"]
        case .logEntry:
            ["sessionId", "timestamp", "type", "drinkType", "sizeOz", "abv", "standardDrinkEstimate", "presetId", "amountOz", "source", "deleted"]
        case .preset: ["userId", "name", "drinkType", "sizeOz", "abv", "standardDrinkEstimate", "position", "deleted"]
        }
    }
}

extension TrackerStore {
    /// Merges the server's rows (a JSON list of objects): the last write wins by `updatedAt`, ties by device id; a
    /// deletion is a write like any other (`tracker.md` E8). A row that breaks a rule of the store is refused alone.
    /// - Throws: `Refusal` where the text is no list of objects.
    public func merge(_ entity: RemoteEntity, json: String, _ context: WriteContext) throws -> MergeOutcome {
        guard let rows = try? JSONDecoder().decode([[String: JSONScalar]].self, from: Data(json.utf8)) else {
            throw Refusal("syncAnswer", "The server's answer is not a list of \(entity.rawValue) objects.")
        }
        return try write { db in
            var outcome = MergeOutcome()
            for row in rows {
                do {
                    // A savepoint for each: one bad row takes no other down.
                    try db.inSavepoint {
                        if try take(row, entity, db) { outcome.taken += 1 } else { outcome.kept += 1 }
                        return .commit
                    }
                } catch is UnfitRow {
                    outcome.refused += 1
                } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
                    outcome.refused += 1
                }
            }
            if outcome.taken > 0, entity == .logEntry { try summariseAfterMerge(rows, context, db) }
            return outcome
        }
    }

    private struct UnfitRow: Error {}

    private func take(_ row: [String: JSONScalar], _ entity: RemoteEntity, _ db: Database) throws -> Bool {
        guard case .text(let id) = row["id"], !id.isEmpty, case .integer(let updatedAt) = row["updatedAt"],
            case .text(let device) = row["deviceId"]
        else { throw UnfitRow() }
        var isDeleted = false
        if case .integer(let flag) = row["deleted"] { isDeleted = flag != 0 }
        let arriving = WriteStamp(updatedAt: Instant(milliseconds: updatedAt), device: device, isDeleted: isDeleted)
        let hasTombstones = entity != .session
        let stored = try Row.fetchOne(
            db, sql: "SELECT updatedAt, deviceId, \(hasTombstones ? "deleted" : "0 AS deleted") FROM \(entity.table) WHERE id = ?",
            arguments: [id]
        ).map {
            WriteStamp(
                updatedAt: Instant(milliseconds: $0["updatedAt"]), device: $0["deviceId"], isDeleted: $0["deleted"])
        }
        guard WriteStamp.wins(arriving, over: stored) else { return false }
        // Absent keys keep what is there, so that an older server need not know every column.
        let columns = entity.columns.filter { row[$0] != nil } + ["updatedAt", "deviceId"]
        let values = columns.map { row[$0]?.databaseValue ?? .null }
        let list = columns.joined(separator: ", ")
        let update = columns.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
        try db.execute(
            sql: """
                INSERT INTO \(entity.table) (id, \(list)\(entity == .preset && row["position"] == nil ? ", position" : ""))
                VALUES (?\(String(repeating: ", ?", count: columns.count))\(entity == .preset && row["position"] == nil ? ", 1000" : ""))
                ON CONFLICT (id) DO UPDATE SET \(update)
                """, arguments: StatementArguments([id.databaseValue] + values))
        return true
    }

    /// Ended sessions whose entries came from elsewhere get their summary anew.
    private func summariseAfterMerge(_ rows: [[String: JSONScalar]], _ context: WriteContext, _ db: Database) throws {
        var ids = Set<String>()
        for row in rows { if case .text(let id) = row["sessionId"] { ids.insert(id) } }
        for id in ids {
            if let session = try SessionTable.find(id, db) { try summarise(session, context, db) }
        }
    }
}
