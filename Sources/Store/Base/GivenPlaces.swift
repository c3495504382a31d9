import GRDB

/// Gives the drinks of a batch their places (`DrinkPlaces`): the number is read from the store once, and written back
/// once, and not for each drink.
struct GivenPlaces {
    private let db: Database
    /// The last place that was given; `nil`: as the store says.
    private var last: Int64?
    /// Whether the store does not know that yet.
    private var isAhead = false

    init(_ db: Database) { self.db = db }

    /// The place of the next drink. It counts as given only after `take`.
    mutating func next() throws -> Int64 {
        if let last { return last + 1 }
        let stored = try Int64.fetchOne(try db.cachedStatement(sql: "SELECT last FROM drink_sequence")) ?? 0
        last = stored
        return stored + 1
    }

    /// The next place is a drink's now.
    mutating func take() { (last, isAhead) = (last.map { $0 + 1 }, true) }

    /// Writes the number back: before a trigger gives places itself, and at the end.
    mutating func settle() throws {
        if isAhead {
            try db.cachedStatement(
                sql:
                    """
                    INSERT INTO drink_sequence (only, last) VALUES (1, ?) ON CONFLICT (only) DO UPDATE SET last = \
                    excluded.last
                    """
            ).run(last)
        }
        (last, isAhead) = (nil, false)
    }
}
