/// The drinks of one bottle, over captures.
final class DrinkHistory {
    let drinks: UnsafeMutablePointer<DrinkIndex>
    /// Entries that are no drinks.
    let bookkeeping: UnsafeMutablePointer<DrinkIndex>

    init() {
        drinks = .allocate(capacity: 1)
        bookkeeping = .allocate(capacity: 1)
        drinks.initialize(to: DrinkIndex())
        bookkeeping.initialize(to: DrinkIndex())
    }

    deinit {
        for index in [drinks, bookkeeping] {
            index.deinitialize(count: 1)
            index.deallocate()
        }
    }
}
