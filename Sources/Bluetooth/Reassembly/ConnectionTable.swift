/// The open connections of a capture, by adapter and handle (or access address).
///
/// Handles are reused, and two adapters can use the same handle. Closed connections use no memory.
struct ConnectionTable {
    /// The maximum number of open connections, to limit the memory for hostile captures. The oldest is closed first.
    static let maximumOpen = 4096

    struct Connection {
        let key: UInt64
        var observed: ObservedConnection
        /// Whether this is a BR/EDR connection, whose traffic is dropped.
        var isClassic = false
        /// Whether a packet was received. If so, another Connection Complete starts another connection.
        var hasTraffic = false
        var sent = L2CAPReassembly()
        var received = L2CAPReassembly()
        var enhanced: EnhancedBearers?
        var linkLayer: LinkLayerState?
        var text: TextState?

        /// The incomplete frame of a direction.
        subscript(direction: TrafficDirection) -> L2CAPReassembly {
            _read { if direction == .sent { yield sent } else { yield received } }
            _modify { if direction == .sent { yield &sent } else { yield &received } }
        }
    }

    var slots: [Connection] = []
    private var slotsByKey: [UInt64: Int] = [:]
    private var freeSlots: [Int] = []
    private var slotsByAdapter: [UInt32: Set<Int>] = [:]
    /// The number of connections examined by adapter resets so far.
    private(set) var examined = 0
    private var lastID = 0
    private var lastKey: UInt64 = .max
    private var lastSlot = -1

    static func key(adapter: UInt32, handle: UInt32) -> UInt64 { UInt64(adapter) << 32 | UInt64(handle) }

    var open: [Int] { slotsByKey.values.sorted { slots[$0].observed.id < slots[$1].observed.id } }
    var count: Int { slotsByKey.count }

    mutating func find(_ key: UInt64) -> Int? {
        if key == lastKey { return lastSlot }
        guard let slot = slotsByKey[key] else { return nil }
        lastKey = key
        lastSlot = slot
        return slot
    }

    /// The open connections of an adapter, which end with its reset, in order of their first packet.
    mutating func open(of adapter: UInt32) -> [Int] {
        guard let slots = slotsByAdapter[adapter] else { return [] }
        examined += slots.count
        return slots.sorted { self.slots[$0].observed.id < self.slots[$1].observed.id }
    }

    /// Adds a connection; the caller has closed an earlier one with this key.
    /// - Parameter isHCI: whether it belongs to a controller, not to the air or to text.
    mutating func add(key: UInt64, adapter: UInt32, handle: UInt32, isHCI: Bool) -> Int {
        lastID += 1
        let connection = Connection(
            key: key, observed: ObservedConnection(id: lastID, adapter: adapter, handle: handle))
        let slot: Int
        if let reused = freeSlots.popLast() {
            slot = reused
            slots[slot] = connection
        } else {
            slot = slots.count
            slots.append(connection)
        }
        slotsByKey[key] = slot
        if isHCI { slotsByAdapter[adapter, default: []].insert(slot) }
        lastKey = key
        lastSlot = slot
        return slot
    }

    mutating func remove(key: UInt64) -> Connection? {
        guard let slot = slotsByKey.removeValue(forKey: key) else { return nil }
        lastKey = .max
        lastSlot = -1
        let connection = slots[slot]
        let adapter = connection.observed.adapter
        if slotsByAdapter[adapter]?.remove(slot) != nil, slotsByAdapter[adapter]?.isEmpty == true {
            slotsByAdapter[adapter] = nil
        }
        slots[slot] = Connection(key: .max, observed: ObservedConnection(id: 0, handle: 0))
        freeSlots.append(slot)
        return connection
    }
}
