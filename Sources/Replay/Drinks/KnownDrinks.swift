import Bluetooth

/// Stores the known drinks of each bottle, over all captures, to find duplicates.
///
/// A bottle is identified by its address. Bottles without an address in the capture, or with a private one, share one
/// set: there, equal drinks of two bottles count as one.
final class KnownDrinks {
    private var bottles: [BluetoothAddress: DrinkSet] = [:]
    private var withoutAddress: DrinkSet?
    private var bookkeeping: [BluetoothAddress?: Set<UInt64>] = [:]

    /// Returns the set of a bottle's drinks, and the other sets that might contain the same drinks.
    func drinks(of address: BluetoothAddress?) -> (drinks: DrinkSet, others: [DrinkSet]) {
        guard let address else {
            let drinks = withoutAddress ?? DrinkSet()
            withoutAddress = drinks
            return (drinks, Array(bottles.values))
        }
        let drinks = bottles[address] ?? DrinkSet()
        bottles[address] = drinks
        return (drinks, withoutAddress.map { [$0] } ?? [])
    }

    /// Stores an entry that is not a drink. Returns `false` if the entry is known.
    func insertBookkeeping(of address: BluetoothAddress?, wall: UInt64, amount: UInt16) -> Bool {
        bookkeeping[address, default: []].insert(wall << 16 | UInt64(amount)).inserted
    }
}

/// The set of drinks of one bottle.
///
/// A drink is identified by the bottle, the six wall-clock bytes and the amount (protocol spec P3.5). Drinks with a
/// possible date are stored by day in four bytes each: the second of the day and the amount. Others (impossible dates,
/// 32,768 ml and more) are stored with all their bits.
///
/// Pages are referenced by pointers, because the reference counting of objects would cost more than a look-up.
final class DrinkSet {
    private typealias Page = UnsafeMutablePointer<FlatSet<UInt32>>

    /// One page per day, by the year, month and day bytes packed into 17 bits.
    private var pages: [UInt32: Page] = [:]
    private var unpackedDrinks: Set<UInt64> = []
    private var cachedDay = UInt32.max
    private var cachedPage: Page?

    deinit {
        for page in pages.values {
            page.deinitialize(count: 1)
            page.deallocate()
        }
    }

    /// Stores a drink. Returns `false` if the drink is known.
    /// - Parameters:
    ///   - wall: the record's bytes 0 to 5 (year − 2000, month, day, hour, minute, second), first byte highest.
    ///   - amount: the amount in millilitres.
    @inline(__always)
    func insert(wall: UInt64, amount: UInt16) -> Bool {
        guard let (day, drink) = Self.packed(wall, amount) else {
            return unpackedDrinks.insert(wall << 16 | UInt64(amount)).inserted
        }
        if day != cachedDay { selectPage(of: day) }
        return cachedPage?.pointee.insert(drink) ?? false
    }

    func contains(wall: UInt64, amount: UInt16) -> Bool {
        guard let (day, drink) = Self.packed(wall, amount) else {
            return unpackedDrinks.contains(wall << 16 | UInt64(amount))
        }
        return pages[day]?.pointee.contains(drink) ?? false
    }

    @inline(__always)
    private static func packed(_ wall: UInt64, _ amount: UInt16) -> (day: UInt32, drink: UInt32)? {
        let month = wall >> 32 & 0xFF, day = wall >> 24 & 0xFF
        let hour = wall >> 16 & 0xFF, minute = wall >> 8 & 0xFF, second = wall & 0xFF
        guard month < 16, day < 32, hour < 24, minute < 60, second < 60, amount < 1 << 15 else { return nil }
        let secondOfDay = UInt32(truncatingIfNeeded: hour * 3600 + minute * 60 + second)
        return (
            UInt32(truncatingIfNeeded: (wall >> 40 & 0xFF) << 9 | month << 5 | day), secondOfDay << 15 | UInt32(amount)
        )
    }

    private func selectPage(of day: UInt32) {
        cachedDay = day
        cachedPage = pages[day]
        guard cachedPage == nil else { return }
        let page = Page.allocate(capacity: 1)
        page.initialize(to: FlatSet())
        pages[day] = page
        cachedPage = page
    }
}

/// A set of numbers in one block: open addressing, linear probing, at most 4/5 full. `Set` needs three times the
/// memory.
private struct FlatSet<Key: FixedWidthInteger & UnsignedInteger>: ~Copyable {
    /// Zero marks a free slot; the number zero itself is `hasZero`.
    private var slots: UnsafeMutablePointer<Key>
    private var capacity = 16
    private var freeSlots = 12
    private var hasZero = false

    init() {
        slots = .allocate(capacity: 16)
        slots.initialize(repeating: 0, count: 16)
    }

    deinit { slots.deallocate() }

    /// Adds the number. Returns `false` if the set has it.
    @inline(__always)
    mutating func insert(_ key: Key) -> Bool {
        guard key != 0 else {
            defer { hasZero = true }
            return !hasZero
        }
        let slot = slot(of: key)
        guard slots[slot] == 0 else { return false }
        slots[slot] = key
        freeSlots -= 1
        if freeSlots == 0 { grow() }
        return true
    }

    func contains(_ key: Key) -> Bool { key == 0 ? hasZero : slots[slot(of: key)] != 0 }

    /// The slot of the key, or the free slot for the key. There is always a free slot.
    @inline(__always)
    private func slot(of key: Key) -> Int {
        let slots = slots, capacity = capacity
        // Fibonacci hashing, then the high half of a product, which works for any table size.
        let mixed = (UInt64(key) ^ UInt64(key) >> 29) &* 0x9E37_79B9_7F4A_7C15
        var slot = Int(truncatingIfNeeded: (mixed ^ mixed >> 32).multipliedFullWidth(by: UInt64(capacity)).high)
        while slots[slot] != 0, slots[slot] != key {
            slot += 1
            if slot == capacity { slot = 0 }
        }
        return slot
    }

    /// Grows the block by half.
    private mutating func grow() {
        let old = UnsafeMutableBufferPointer(start: slots, count: capacity)
        let used = capacity * 4 / 5
        capacity += capacity / 2
        freeSlots = capacity * 4 / 5 - used
        slots = .allocate(capacity: capacity)
        slots.initialize(repeating: 0, count: capacity)
        for key in old where key != 0 { slots[slot(of: key)] = key }
        old.deallocate()
    }
}
