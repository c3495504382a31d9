/// What ingesting, deleting and resetting make of a set of drinks (tracker spec A6), as arithmetic on values: what a
/// store does in SQL must equal this.
package struct DrinkLedger: Hashable, Sendable {
    /// By key; tombstones included.
    package private(set) var drinks: [String: Drink]

    /// With these drinks.
    package init(_ drinks: [Drink] = []) {
        self.drinks = [:]
        ingest(drinks)
    }

    /// Takes in a batch. A key that is known stays as it was: the first resolution is final, and a tombstone keeps a
    /// deleted drink from coming back. So any split, order or repetition of batches ends in the same set.
    package mutating func ingest(_ batch: [Drink]) {
        for drink in batch where drinks[drink.key] == nil { drinks[drink.key] = drink }
    }

    /// Leaves a tombstone. `false` where no such drink stands.
    @discardableResult
    package mutating func delete(_ key: String, at now: Instant) -> Bool {
        guard var drink = drinks[key], !drink.isDeleted else { return false }
        drink.isDeleted = true
        drink.updatedAt = now
        drinks[key] = drink
        return true
    }

    /// Tombstones every drink of a day, the bottle's included, and removes nothing else. Returns how many.
    @discardableResult
    package mutating func reset(_ day: LocalDay, at now: Instant) -> Int {
        drinks.values.filter { $0.localDay == day && !$0.isDeleted }.reduce(0) {
            $0 + (delete($1.key, at: now) ? 1 : 0)
        }
    }

    /// An edit tombstones the old key and adds the changed drink under a new one, so that the record it came from does
    /// not return beside it.
    @discardableResult
    package mutating func edit(_ key: String, to changed: Drink, at now: Instant) -> Bool {
        guard changed.key != key, drinks[changed.key] == nil, delete(key, at: now) else { return false }
        ingest([changed])
        return true
    }

    /// The day's fold.
    package func intake(on day: LocalDay) -> DayIntake { DayIntake(day: day, folding: drinks.values) }

    /// The days' totals.
    package var totals: [LocalDay: Int] {
        drinks.values.reduce(into: [:]) { if $1.counts { $0[$1.localDay, default: 0] += $1.ml } }
    }
}
