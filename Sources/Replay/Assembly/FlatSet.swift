/// A set of whole numbers in one block: open addressing, linear probing, at most 4/5 full.
///
/// Telling drinks apart must not cost more memory than the drinks themselves (`Set` spends about three times the key),
/// nor more time than decoding them: hence a block of its own instead of an array. Not copyable: the block has one
/// owner.
struct FlatSet<Key: FixedWidthInteger & UnsignedInteger>: ~Copyable {
    /// Zero marks a free slot; the number zero itself is remembered in `hasZero`.
    private var slots: UnsafeMutablePointer<Key>
    private var capacity: Int
    private var room: Int
    private var hasZero = false

    init() {
        capacity = 16
        room = 12
        slots = .allocate(capacity: 16)
        slots.initialize(repeating: 0, count: 16)
    }

    deinit { slots.deallocate() }

    /// Adds the number; false when it was there already.
    @inline(__always)
    mutating func insert(_ key: Key) -> Bool {
        guard key != 0 else { return insertZero() }
        let slots = slots, capacity = capacity
        var place = Self.place(of: key, among: capacity)
        while true {
            let found = slots[place]
            if found == key { return false }
            if found == 0 {
                slots[place] = key
                noteOneMore()
                return true
            }
            place += 1
            if place == capacity { place = 0 }
        }
    }

    func contains(_ key: Key) -> Bool {
        guard key != 0 else { return hasZero }
        var place = Self.place(of: key, among: capacity)
        while slots[place] != 0 {
            if slots[place] == key { return true }
            place += 1
            if place == capacity { place = 0 }
        }
        return false
    }

    func forEach(_ body: (Key) -> Void) {
        if hasZero { body(0) }
        for place in 0..<capacity where slots[place] != 0 { body(slots[place]) }
    }

    private mutating func insertZero() -> Bool {
        defer { hasZero = true }
        return !hasZero
    }

    private mutating func noteOneMore() {
        room -= 1
        if room == 0 { grow() }
    }

    /// Half as large again: there is always a free slot, so that every search ends.
    private mutating func grow() {
        let old = UnsafeMutableBufferPointer(start: slots, count: capacity)
        let used = capacity * 4 / 5
        capacity += capacity / 2
        room = capacity * 4 / 5 - used
        slots = .allocate(capacity: capacity)
        slots.initialize(repeating: 0, count: capacity)
        for key in old where key != 0 {
            var place = Self.place(of: key, among: capacity)
            while slots[place] != 0 {
                place += 1
                if place == capacity { place = 0 }
            }
            slots[place] = key
        }
        old.deallocate()
    }

    /// Fibonacci hashing, then the high half of a product: any table size will do, not only powers of two.
    @inline(__always)
    private static func place(of key: Key, among size: Int) -> Int {
        var folded = UInt64(truncatingIfNeeded: key)
        if Key.bitWidth > 64 { folded ^= UInt64(truncatingIfNeeded: key >> 64) &* 0xD6E8_FEB8_6659_FD93 }
        let mixed = (folded ^ folded >> 29) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: (mixed ^ mixed >> 32).multipliedFullWidth(by: UInt64(size)).high)
    }
}
