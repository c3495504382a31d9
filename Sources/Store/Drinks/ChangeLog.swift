import Foundation
import GRDB
package import TrackerCore

/// A row before and after a manual change; `before` is `nil` for an added row.
///
/// Undo requires that the rows are as the change left them. So it never reverts a later change.
enum ChangedRow: Codable {
    struct DrinkFields: Codable, Equatable, FetchableRecord {
        var instant: Int64
        var zone: String
        var localDay: String
        var ml: Int
        var deleted: Bool
    }

    struct LogFields: Codable, Equatable, FetchableRecord {
        var timestamp: Int64
        var estimate: Double?
        var amountOz: Double?
        var deleted: Bool
    }

    /// `after` is `nil` in changes that versions before 0.10 recorded.
    case drink(Int64, before: DrinkFields?, after: DrinkFields? = nil)
    case log(Int64, before: LogFields?, after: LogFields? = nil)
    case excluded(String)

    var belongsToSession: Bool { drinkNumber == nil }

    var drinkNumber: Int64? {
        if case .drink(let number, _, _) = self { number } else { nil }
    }

    static func drink(_ number: Int64, _ db: Database) throws -> ChangedRow {
        .drink(number, before: try drinkFields(number, db))
    }

    static func log(_ seq: Int, _ db: Database) throws -> ChangedRow {
        .log(Int64(seq), before: try logFields(Int64(seq), db))
    }

    /// Returns the change with the present values of its row as `after`.
    func changed(_ db: Database) throws -> ChangedRow {
        switch self {
        case .drink(let number, let before, _): .drink(number, before: before, after: try Self.drinkFields(number, db))
        case .log(let seq, let before, _): .log(seq, before: before, after: try Self.logFields(seq, db))
        case .excluded: self
        }
    }

    func isUnchanged(_ db: Database) throws -> Bool {
        switch self {
        case .drink(let number, _, let after): try after == nil || Self.drinkFields(number, db) == after
        case .log(let seq, _, let after): try after == nil || Self.logFields(seq, db) == after
        case .excluded: true
        }
    }

    private static func drinkFields(_ number: Int64, _ db: Database) throws -> DrinkFields? {
        try db.first("SELECT * FROM drink WHERE id = ?", [number])
    }

    private static func logFields(_ seq: Int64, _ db: Database) throws -> LogFields? {
        try db.first("SELECT *, standardDrinkEstimate AS estimate FROM log_entry WHERE seq = ?", [seq])
    }
}

/// The set of manual changes from which undo reverts the newest one.
package enum UndoScope: Hashable, Sendable {
    case everything
    case drinks
    /// Changes of drinks of the current day.
    case today
    case session
    /// Changes of the drink with this row id.
    case drink(Int64)
}

/// The last manual changes, for `undo`.
enum ChangeLog {
    static let limit = 100

    /// Records a change. Call it after changing the rows.
    static func record(_ rows: [ChangedRow], _ description: String, _ context: WriteContext, _ db: Database) throws {
        let rows = try rows.map { try $0.changed(db) }
        try db.run(
            "INSERT INTO change (at, description, before) VALUES (?, ?, ?)", [context.now, description, try rows.json])
        try db.run("DELETE FROM change WHERE id <= ?", [db.lastInsertedRowID - Int64(limit)])
    }
}

extension TrackerStore {
    /// Undoes the last manual change of drinks or session entries. Skips changes in a session that was sealed since.
    /// - Parameters:
    ///   - scope: the changes to consider; all others stay.
    ///   - asOf: the time of the request; a newer change is not undone.
    /// - Returns: the description of the change.
    /// - Throws: `Refusal` if there is nothing to undo, or if a later change affected the same rows.
    package func undo(_ context: WriteContext, _ scope: UndoScope = .everything, asOf: Instant? = nil) throws -> String
    {
        try write { db in
            let today = try dayCalendar(context.zone, db).day(of: context.now).description
            var before = Int64.max
            while let row = try Row.fetchOne(
                db, sql: "SELECT * FROM change WHERE id < ? ORDER BY id DESC LIMIT 1", arguments: [before])
            {
                before = try row.decode(forColumn: "id")
                let description: String = try row.decode(forColumn: "description")
                guard let rows = [ChangedRow](json: try row.decode(forColumn: "before")),
                    try Self.includes(scope, rows, today, db)
                else { continue }
                if let asOf, try row.decode(Instant.self, forColumn: "at") > asOf {
                    throw Refusal("changedSince", "Not undone: a newer change was made: \(description).")
                }
                guard try rows.allSatisfy({ try isEditable($0, db) }) else {
                    try db.run("DELETE FROM change WHERE id = ?", [before])
                    continue
                }
                guard try rows.allSatisfy({ try $0.isUnchanged(db) }) else {
                    throw Refusal(
                        "changedLater",
                        "undo failed: a later change touched the same entry (\(description)). Nothing was changed.")
                }
                try db.run("DELETE FROM change WHERE id = ?", [before])
                // Restore the added row first, because at most one version of a drink counts at any time.
                for changed in rows.reversed() { try restore(changed, context, db) }
                return description
            }
            throw Refusal("nothingToUndo", "There is nothing to undo.")
        }
    }

    private static func includes(_ scope: UndoScope, _ rows: [ChangedRow], _ today: String, _ db: Database) throws
        -> Bool
    {
        switch scope {
        case .everything: return true
        case .drinks: return !rows.contains(where: \.belongsToSession)
        case .session: return rows.contains(where: \.belongsToSession)
        case .drink(let number): return rows.contains { $0.drinkNumber == number }
        case .today:
            guard !rows.contains(where: \.belongsToSession) else { return false }
            return try rows.contains { row in
                guard case .drink(let number, let before, _) = row else { return false }
                return try before?.localDay == today
                    || db.first("SELECT localDay FROM drink WHERE id = ?", [number]) == today
            }
        }
    }

    private func isEditable(_ changed: ChangedRow, _ db: Database) throws -> Bool {
        switch changed {
        case .drink: return true
        case .log(let seq, _, _):
            return try SessionTable.find(try LogTable.log(seq, db).sessionID, db).map { !$0.sealed } ?? false
        case .excluded(let id):
            return try excludedSession(id, db).map { !$0.sealed } ?? false
        }
    }

    private func restore(_ changed: ChangedRow, _ context: WriteContext, _ db: Database) throws {
        switch changed {
        case .drink(let number, let before, _):
            let now = try DrinkTable.drink(number, db)?.at
            if let old = before {
                try db.run(
                    """
                    UPDATE drink SET instant = ?, zone = ?, localDay = ?, ml = ?, deleted = ?, deletedWith = NULL,
                        updatedAt = ? WHERE id = ?
                    """, [old.instant, old.zone, old.localDay, old.ml, old.deleted, context.now, number])
                try refreshSummaries(around: [Instant(milliseconds: old.instant)], context, db)
            } else {
                try db.run("UPDATE drink SET deleted = 1, updatedAt = ? WHERE id = ?", [context.now, number])
            }
            try refreshSummaries(around: now.map { [$0] } ?? [], context, db)
        case .log(let seq, let before, _):
            let log = try LogTable.log(seq, db)
            guard let session = try SessionTable.find(log.sessionID, db) else { return }
            try db.run(
                """
                UPDATE log_entry SET timestamp = coalesce(?, timestamp), standardDrinkEstimate = ?, amountOz = ?,
                    deleted = ?, updatedAt = max(?, updatedAt + 1), deviceId = ? WHERE seq = ?
                """,
                [
                    before?.timestamp, before?.estimate ?? log.standardDrinkEstimate, before?.amountOz ?? log.amountOz,
                    before?.deleted ?? true, context.now, try ProfileTable.findOrCreate(db, context).deviceID, seq,
                ])
            try propagateChange(log.id, session, context, db)
        case .excluded(let id):
            guard let session = try excludedSession(id, db) else { return }
            try db.run("DELETE FROM excluded_log WHERE id = ?", [id])
            try summarise(session, context, db)
        }
    }

    /// The session from which a derived water was excluded.
    private func excludedSession(_ id: String, _ db: Database) throws -> WaterlineSession? {
        try db.first("SELECT * FROM session WHERE id = (SELECT sessionId FROM excluded_log WHERE id = ?)", [id])
    }
}
