import GRDB
import TrackerCore

extension TrackerStore {
    /// The place of the newest change; 0 where there was none.
    package func lastDrinkPlace() throws -> Int64 {
        try read { db in try Int64.fetchOne(db, sql: "SELECT last FROM drink_sequence") ?? 0 }
    }

    /// Whether a reader may go on behind this position. One of before a purge, or of another store, is none of this
    /// one's.
    package func isDrinkPlace(_ position: Int64) throws -> Bool {
        DrinkPlaces.fits(position, last: try lastDrinkPlace())
    }

    /// What changed at the places behind `position`, up to `last`, in order.
    /// - Parameters:
    ///   - known: whoever reads has been told all changes up to here; what came later and is gone already is none of
    ///     its business.
    ///   - limit: so many rows at most.
    /// - Returns: the lines, and the position up to which they tell everything.
    package func drinkLines(after position: Int64, known: Int64, through last: Int64, limit: Int) throws -> (
        lines: [DrinkLine], position: Int64
    ) {
        try read { db in
            let rows = try Row.fetchAll(
                db,
                sql:
                    """
                    SELECT \(StoredDrink.columns), place, born FROM drink WHERE place > ? AND place <= ? ORDER BY \
                    place LIMIT ?
                    """,
                arguments: [position, last, limit])
            let lines = try rows.compactMap { row -> DrinkLine? in
                let (place, isNew) = (try row.checked("place", Int64.self), try row.checked("born", Int64.self) > known)
                // Rows that no program of ours writes are left out, as everywhere; the doctor names them.
                guard let stored = try? StoredDrink(row: row), stored.ml > 0, !isNew || !stored.isDeleted else {
                    return nil
                }
                let original = try StoredDrink.original(row)
                let change: DrinkLine.Change =
                    stored.isDeleted ? .deleted : !isNew ? .changed : original == nil ? .added : .corrected
                return DrinkLine(
                    position: place, change: change, drink: stored.drink, number: stored.number, original: original)
            }
            return (lines, rows.count < limit ? last : try rows.last?.checked("place") ?? last)
        }
    }
}
