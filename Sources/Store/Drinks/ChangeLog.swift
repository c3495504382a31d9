import Foundation
import GRDB
import TrackerCore

/// A row as it was before a manual change; `before` is `nil` where the change made the row.
enum ChangedRow: Codable {
    struct DrinkFields: Codable {
        var instant: Int64
        var zone: String
        var localDay: String
        var ml: Int
        var deleted: Bool
    }

    case drink(Int64, before: DrinkFields?)

    static func drink(_ number: Int64, _ db: Database) throws -> ChangedRow {
        let row = try DrinkTable.row(number, db)
        return .drink(number, before: row.map {
            DrinkFields(
                instant: $0["instant"], zone: $0["zone"], localDay: $0["localDay"], ml: $0["ml"], deleted: $0["deleted"])
        })
    }
}

/// The last manual changes and what they replaced: what `undo` takes back, newest first.
enum ChangeLog {
    /// How many changes can be taken back.
    static let limit = 100

    static func remember(_ rows: [ChangedRow], _ what: String, _ context: WriteContext, _ db: Database) throws {
        let before = String(decoding: try JSONEncoder().encode(rows), as: UTF8.self)
        try db.execute(
            sql: "INSERT INTO change (at, what, before) VALUES (?, ?, ?)",
            arguments: [context.now.milliseconds, what, before])
        try db.execute(
            sql: "DELETE FROM change WHERE id <= ?", arguments: [db.lastInsertedRowID - Int64(limit)])
    }
}

extension TrackerStore {
    /// Takes the last manual change of drinks back.
    /// - Returns: the change in words.
    /// - Throws: `Refusal` when there is nothing to take back.
    public func undo(_ context: WriteContext) throws -> String {
        try write { db in
            guard let row = try Row.fetchOne(db, sql: "SELECT * FROM change ORDER BY id DESC LIMIT 1") else {
                throw Refusal("nothingToUndo", "There is nothing to take back.")
            }
            let text: String = row["before"]
            for changed in try JSONDecoder().decode([ChangedRow].self, from: Data(text.utf8)) {
                switch changed {
                case .drink(let number, before: nil):
                    try db.execute(
                        sql: "UPDATE drink SET deleted = 1, updatedAt = ? WHERE id = ?",
                        arguments: [context.now.milliseconds, number])
                case .drink(let number, .some(let old)):
                    try db.execute(sql: """
                        UPDATE drink SET instant = ?, zone = ?, localDay = ?, ml = ?, deleted = ?, updatedAt = ? WHERE id = ?
                        """, arguments: [
                            old.instant, old.zone, old.localDay, old.ml, old.deleted, context.now.milliseconds, number,
                        ])
                }
            }
            try db.execute(sql: "DELETE FROM change WHERE id = ?", arguments: [row["id"] as Int64])
            return row["what"]
        }
    }
}
