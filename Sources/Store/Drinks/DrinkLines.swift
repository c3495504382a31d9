import GRDB
package import TrackerCore

extension TrackerStore {
    /// The position of the newest drink change; 0 if there is none.
    package func lastDrinkPosition() throws -> Int64 {
        try read(DrinkPositions.last)
    }

    /// Whether a reader can resume at this position; `false` for another store, or from before a purge or restore.
    package func isDrinkPosition(_ position: Int64) throws -> Bool {
        DrinkPositions.canResume(position, last: try lastDrinkPosition())
    }

    /// A number that changes with a purge or restore.
    package func drinkEpoch() throws -> Int64 { DrinkPositions.epoch(of: try lastDrinkPosition()) }

    /// The changes after `position` up to `last`, in order.
    /// - Parameters:
    ///   - known: the reader has all changes up to here. Drinks that were added and deleted since are left out.
    ///   - limit: the largest number of rows.
    /// - Returns: the lines, and the position up to which they are complete.
    package func drinkLines(after position: Int64, known: Int64, through last: Int64, limit: Int) throws -> (
        lines: [DrinkLine], position: Int64
    ) {
        try read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT \(StoredDrink.columns), position, firstPosition FROM drink
                    WHERE position > ? AND position <= ? ORDER BY position LIMIT ?
                    """,
                arguments: [position, last, limit])
            let lines = try rows.compactMap { row -> DrinkLine? in
                let isNew = try row.decode(Int64.self, forColumn: "firstPosition") > known
                let (stored, original) = (try StoredDrink(row: row), try StoredDrink.original(row))
                guard stored.ml > 0, !isNew || !stored.isDeleted else { return nil }
                let change: DrinkLine.Change =
                    stored.isDeleted ? .deleted : !isNew ? .changed : original == nil ? .added : .corrected
                return DrinkLine(
                    position: try row.decode(forColumn: "position"), change: change, drink: stored.drink,
                    number: stored.number, original: original)
            }
            return (lines, rows.count < limit ? last : try rows.last?.decode(forColumn: "position") ?? last)
        }
    }
}

/// Positions in the sequence of drink changes. The upper bits are random and change with a purge or restore, so that a
/// position of another store is detected. Positions stay below 2^52, which JavaScript represents exactly.
enum DrinkPositions {
    /// The number of low bits, which count changes (up to 2^30).
    private static let lowBits: Int64 = 30
    private static let maxEpoch: Int64 = (1 << 22) - 1

    /// The position of a new drink, as an SQL expression. An INSERT with it needs no trigger; `advance` follows it.
    static let next = "(SELECT coalesce(max(last), 0) + 1 FROM drink_sequence)"
    static let advance =
        "INSERT INTO drink_sequence (only, last) VALUES (1, 1) ON CONFLICT (only) DO UPDATE SET last = last + 1"

    static func last(_ db: Database) throws -> Int64 {
        try db.first("SELECT last FROM drink_sequence") ?? 0
    }

    /// Initialises the positions of an empty table.
    static func initialise(_ db: Database) throws {
        try db.execute(
            sql: "INSERT INTO drink_sequence (only, last) VALUES (1, (abs(random() % \(maxEpoch)) + 1) << \(lowBits))")
    }

    static func epoch(of position: Int64) -> Int64 { position >> lowBits }

    /// Whether a reader can resume at this position; 0 is always valid.
    static func canResume(_ position: Int64, last: Int64) -> Bool {
        position == 0 || (position <= last && epoch(of: position) == epoch(of: last))
    }
}
