/// A set of whole numbers in one block: open addressing, linear probing, at most 4/5 full.
///
/// Telling drinks apart must not cost more memory than the drinks themselves: `Set` spends about three times the key.
struct FlatSet<Key: FixedWidthInteger & UnsignedInteger> {
    /// Zero marks a free slot; the number zero itself is remembered in `hasZero`.
    private var slots: [Key] = []
    private var hasZero = false
    private(set) var count = 0

    /// Adds the number; false when it was there already.
    @inline(__always)
    mutating func insert(_ key: Key) -> Bool {
        guard key != 0 else {
            defer { hasZero = true }
            if !hasZero { count += 1 }
            return !hasZero
        }
        if count * 5 >= slots.count * 4 { grow() }
        var place = Self.place(of: key, among: slots.count)
        while true {
            let found = slots[place]
            if found == key { return false }
            if found == 0 {
                slots[place] = key
                count += 1
                return true
            }
            place += 1
            if place == slots.count { place = 0 }
        }
    }

    private mutating func grow() {
        let old = slots
        slots = [Key](repeating: 0, count: max(16, old.count + old.count / 2))
        for key in old where key != 0 {
            var place = Self.place(of: key, among: slots.count)
            while slots[place] != 0 {
                place += 1
                if place == slots.count { place = 0 }
            }
            slots[place] = key
        }
    }

    /// Fibonacci hashing, then the high half of a product: any table size will do, not only powers of two.
    @inline(__always)
    private static func place(of key: Key, among size: Int) -> Int {
        let mixed = (UInt64(key) ^ UInt64(key) >> 29) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: (mixed ^ mixed >> 32).multipliedFullWidth(by: UInt64(size)).high)
    }
}
