/// The connections of a capture that are open, by adapter and handle (or access address).
///
/// A handle is reused, and two adapters use the same handle at one time. Closed connections leave nothing behind, so
/// that a long capture of many connections needs no more memory than one.
struct ConnectionTable {
    /// A hostile capture can name millions of connections; nobody has more open than this. The oldest give way.
    static let mostOpen = 4096

    struct Connection {
        let key: UInt64
        var observed: ObservedConnection
        /// Classic Bluetooth: its channel 4 is no ATT.
        var isClassic = false
        /// Something passed on it: being told once more that it was made now means another connection.
        var hasTraffic = false
        var sent = L2CAPHalf()
        var received = L2CAPHalf()
        /// Fragments of both directions that wait until it is known whose they are.
        var tangle: FragmentTangle?
        var enhanced: EnhancedBearers?
        /// What of a classic connection is ATT, and whether any was there.
        var classic = ClassicBearers()
        var hasClassicATT = false
        var air: AirState?
        var text: TextState?
    }

    /// Open connections and free places; `find` and `open` give the indexes.
    var slots: [Connection] = []
    private var byKey: [UInt64: Int] = [:]
    private var free: [Int] = []
    /// Open connections of HCI, by adapter: those end with it.
    private var ofAdapter: [UInt32: Set<Int>] = [:]
    /// Connections that resets have looked at: the work that they make.
    private(set) var looks = 0
    private var lastID = 0
    private var lastKey: UInt64 = .max
    private var lastSlot = -1

    static func key(adapter: UInt32, handle: UInt32) -> UInt64 { UInt64(adapter) << 32 | UInt64(handle) }

    var open: [Int] { byKey.values.sorted { slots[$0].observed.id < slots[$1].observed.id } }
    var count: Int { byKey.count }

    mutating func find(_ key: UInt64) -> Int? {
        if key == lastKey { return lastSlot }
        guard let slot = byKey[key] else { return nil }
        lastKey = key
        lastSlot = slot
        return slot
    }

    /// What ends when an adapter is reset, in order of first sight.
    mutating func open(of adapter: UInt32) -> [Int] {
        guard let slots = ofAdapter[adapter] else { return [] }
        looks += slots.count
        return slots.sorted { self.slots[$0].observed.id < self.slots[$1].observed.id }
    }

    /// A new connection; the caller has closed whoever had the key.
    /// - Parameter isHCI: a controller's, not one from the air or from text.
    mutating func add(key: UInt64, adapter: UInt32, handle: UInt32, isHCI: Bool) -> Int {
        lastID += 1
        let connection = Connection(
            key: key, observed: ObservedConnection(id: lastID, adapter: adapter, handle: handle))
        let slot: Int
        if let reused = free.popLast() {
            slot = reused
            slots[slot] = connection
        } else {
            slot = slots.count
            slots.append(connection)
        }
        byKey[key] = slot
        if isHCI { ofAdapter[adapter, default: []].insert(slot) }
        lastKey = key
        lastSlot = slot
        return slot
    }

    /// Ends a connection and gives its slot back.
    mutating func remove(key: UInt64) -> Connection? {
        guard let slot = byKey.removeValue(forKey: key) else { return nil }
        lastKey = .max
        lastSlot = -1
        let connection = slots[slot]
        let adapter = connection.observed.adapter
        if ofAdapter[adapter]?.remove(slot) != nil, ofAdapter[adapter]?.isEmpty == true { ofAdapter[adapter] = nil }
        slots[slot] = Connection(key: .max, observed: ObservedConnection(id: 0, handle: 0))
        free.append(slot)
        return connection
    }
}
