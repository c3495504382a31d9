import TrackerCore

/// Adding, deleting and resetting drinks as operations on values (tracker spec A6). The store's SQL must do the same.
struct DrinkLedger: Hashable, Sendable {
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

    /// Stores the changed drink under a new key and leaves a tombstone, so that no poll adds the original.
    @discardableResult
    mutating func edit(_ key: String, to changed: Drink, at now: Instant) -> Bool {
        guard changed.key != key, drinks[changed.key] == nil, delete(key, at: now) else { return false }
        ingest([changed])
        return true
    }

    func intake(on day: LocalDay) -> DayIntake { DayIntake(day: day, folding: drinks.values) }

    var totals: [LocalDay: Int] {
        drinks.values.reduce(into: [:]) { if $1.counts { $0[$1.localDay, default: 0] += $1.ml } }
    }
}
