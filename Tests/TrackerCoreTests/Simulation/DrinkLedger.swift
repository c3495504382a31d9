import TrackerCore

/// The drinks of a simulated day: added, deleted and reset as tracker spec A6 says. StoreTests tests the store's SQL.
struct DrinkLedger: Sendable {
    /// The drinks by key, including tombstones.
    private(set) var drinks: [String: Drink]

    init(_ drinks: [Drink] = []) {
        self.drinks = [:]
        ingest(drinks)
    }

    /// Adds a batch. A known key does not change: the first date is final, and a deleted drink stays deleted. The
    /// result does not depend on the split, order or repetition of batches.
    mutating func ingest(_ batch: [Drink]) {
        for drink in batch where drinks[drink.key] == nil { drinks[drink.key] = drink }
    }

    /// Replaces a drink by a tombstone. Returns `false` if there is none.
    @discardableResult
    mutating func delete(_ key: String, at now: Instant) -> Bool {
        guard var drink = drinks[key], !drink.isDeleted else { return false }
        drink.isDeleted = true
        drink.updatedAt = now
        drinks[key] = drink
        return true
    }

    /// Replaces every drink of a day by a tombstone. Returns their number.
    @discardableResult
    mutating func reset(_ day: LocalDay, at now: Instant) -> Int {
        drinks.values.filter { $0.localDay == day && !$0.isDeleted }.reduce(0) {
            $0 + (delete($1.key, at: now) ? 1 : 0)
        }
    }

    func intake(on day: LocalDay) -> DayIntake { DayIntake(day: day, folding: drinks.values) }
}
