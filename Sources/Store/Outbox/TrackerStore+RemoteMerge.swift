import Foundation
import GRDB
import TrackerCore

/// What a merge made of the server's rows.
package struct MergeOutcome: Hashable, Sendable {
    /// Newer than ours, taken.
    package var taken = 0
    /// Ours is as new or newer.
    package var kept = 0
    /// Against a rule of the store, or not understood; ours stays.
    package var refused = 0
    /// The first of those, with the reason.
    package var refusals: [RemoteRefusal] = []

    /// With nothing merged.
    package init() {}

    /// Counts a row that was not taken, and remembers the first hundred.
    mutating func refuse(_ entity: RemoteEntity, _ id: String, _ reason: String) {
        refused += 1
        if refusals.count < 100 { refusals.append(RemoteRefusal(entity: entity, id: id, reason: reason)) }
    }
}

/// A row of the server that was not taken.
package struct RemoteRefusal: Hashable, Sendable {
    /// What kind of row it is.
    package var entity: RemoteEntity
    /// As the server has it; empty where it has none.
    package var id: String
    /// What is wrong with it, the end of a sentence.
    package var reason: String
}

/// Things that come back from the server.
package enum RemoteEntity: String, Sendable, CaseIterable {
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
        case .session:
            [
                "userId", "startTime", "endTime", "isActive", "sealed", "ruleN", "bottleWater", "waterOz", "threshold",
                "computedSummary",
            ]
        case .logEntry:
            [
                "sessionId", "timestamp", "type", "drinkType", "sizeOz", "abv", "standardDrinkEstimate", "presetId",
                "amountOz", "source", "deleted",
            ]
        case .preset: ["userId", "name", "drinkType", "sizeOz", "abv", "standardDrinkEstimate", "position", "deleted"]
        }
    }
}

extension TrackerStore {
    /// Merges the server's rows (a JSON list of objects): the last write wins by `updatedAt`, ties by device id; a
    /// deletion is a write like any other (tracker law E8). A row that breaks a rule of the store is refused alone,
    /// with its reason.
    /// - Throws: `Refusal` where the text is no list.
    package func merge(_ entity: RemoteEntity, json: String, _ context: WriteContext) throws -> MergeOutcome {
        guard let elements = try? JSONDecoder().decode([RemoteElement].self, from: Data(json.utf8)) else {
            throw Refusal("syncAnswer", "The server's answer is not a list of \(entity.rawValue) objects.")
        }
        return try write { db in
            var outcome = MergeOutcome()
            var sessions = Set<String>()
            for element in elements {
                guard case .row(let row) = element else {
                    outcome.refuse(entity, "", "it is no object of plain values")
                    continue
                }
                var id = ""
                if case .text(let text) = row["id"], RemoteRow.isName(text) { id = text }
                do {
                    // A savepoint for each: one bad row takes no other down.
                    try db.inSavepoint {
                        if try take(row, entity, context.now, db) {
                            outcome.taken += 1
                            if case .text(let session) = row["sessionId"] { sessions.insert(session) }
                            if entity == .logEntry { try countWater(id, context, db) }
                        } else {
                            outcome.kept += 1
                        }
                        return .commit
                    }
                } catch let error as UnfitRow {
                    outcome.refuse(entity, id, error.reason)
                } catch let error as UnreadableRow {
                    outcome.refuse(entity, id, "the store's own row cannot be read: \(error.reason)")
                } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
                    outcome.refuse(entity, id, Self.rule(brokenBy: error, entity))
                }
            }
            // Ended sessions whose entries came from elsewhere get their summary anew.
            for id in sessions {
                if let session = try SessionTable.find(id, db) { try summarise(session, context, db) }
            }
            return outcome
        }
    }

    private static func rule(brokenBy error: DatabaseError, _ entity: RemoteEntity) -> String {
        entity == .session && error.extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE
            ? "another session is active" : "it breaks a rule of the store (\(error.message ?? "constraint"))"
    }

    private func take(_ row: [String: JSONScalar], _ entity: RemoteEntity, _ now: Instant, _ db: Database) throws
        -> Bool
    {
        let remote = try RemoteRow(row, entity, now: now, db)
        guard WriteStamp.wins(remote.stamp, over: remote.storedStamp) else { return false }
        try remote.check(entity, db)
        let id = remote.id
        // Absent keys keep what is there, so that an older server need not know every column.
        let columns = entity.columns.filter { row[$0] != nil } + ["updatedAt", "deviceId"]
        let values = columns.map { row[$0]?.databaseValue ?? .null }
        let list = columns.joined(separator: ", ")
        let update = columns.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
        try db.execute(
            sql: """
                INSERT INTO \(entity.table) (id, \
                \(list)\(entity == .preset && row["position"] == nil ? ", position" : ""))
                VALUES \
                (?\(String(repeating: ", ?", count: columns.count))\
                \(entity == .preset && row["position"] == nil ? ", 1000" : ""))
                ON CONFLICT (id) DO UPDATE SET \(update)
                """, arguments: StatementArguments([id.databaseValue] + values))
        return true
    }
}
