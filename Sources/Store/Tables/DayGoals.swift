import GRDB
import TrackerCore

/// Rows of `day`: from which day on which goal holds.
enum DayGoals {
    /// - Throws: `UnreadableRow`.
    static func goal(_ row: Row) throws -> (LocalDay, Int) {
        let text: String = try row.checked("localDay")
        guard let day = LocalDay(text) else { throw row.unreadable("localDay is \"\(text)\", which is no date") }
        return (day, try row.checked("goalMl", in: DrinkTable.storableMl))
    }

    /// From here on the goal held that nobody had changed yet.
    static let beginning = "0001-01-01"

    static func change(from old: Int, to new: Int, on day: LocalDay, isFirstChoice: Bool, _ db: Database) throws {
        let isFirst = try Int.fetchOne(db, sql: "SELECT count(*) FROM day") == 0
        // A person who sets the program up on its first day has chosen the goal for what is imported later, too.
        let isNew =
            try isFirstChoice
            && !(Bool.fetchOne(
                db,
                sql:
                    """
                    SELECT EXISTS (SELECT 1 FROM drink WHERE localDay < ?1) OR EXISTS (SELECT 1 FROM engine_day \
                    WHERE dayKey < ?1)
                    """,
                arguments: [day.description]) ?? false)
        if isFirst, !isNew {
            try db.execute(
                sql: "INSERT OR IGNORE INTO day (localDay, goalMl) VALUES (?, ?)", arguments: [beginning, old])
        }
        try db.execute(
            sql: """
                INSERT INTO day (localDay, goalMl) VALUES (?, ?) ON CONFLICT (localDay) DO UPDATE SET goalMl = \
                excluded.goalMl
                """, arguments: [day.description, new])
    }
}
