package import Bluetooth
import Captures

/// Selects the HCI packets of one bottle: those of its connections, and those that contain its address.
package struct BottleFilter: Sendable {
    private let address: [UInt8]
    private var handles: Set<UInt16> = []

    package init(_ address: BluetoothAddress) { self.address = address.littleEndian }

    /// Whether a packet belongs to the bottle. `bytes` are without the H4 type byte.
    package mutating func selects(_ content: PacketContent, _ bytes: [UInt8]) -> Bool {
        switch content {
        case .note: return true
        case .hci(.acl):
            return bytes.count >= 2 && handles.contains(bytes.uint16(at: 0) & 0x0FFF)
        case .hci(.event): return selectsEvent(bytes)
        case .hci(.command): return containsAddress(bytes)
        default: return false
        }
    }

    private mutating func selectsEvent(_ event: [UInt8]) -> Bool {
        // LE Connection Complete and its enhanced forms: code, length, subevent, status, handle(2), role, type,
        // address.
        if event.count >= 14, event[0] == 0x3E, [0x01, 0x0A, 0x29].contains(event[2]), event[3] == 0 {
            let handle = event.uint16(at: 4) & 0x0FFF
            guard Array(event[8..<14]) == address else {
                handles.remove(handle)
                return false
            }
            handles.insert(handle)
            return true
        }
        // Disconnection Complete: code, length, status, handle(2), reason.
        if event.count >= 5, event[0] == 0x05 {
            return handles.remove(event.uint16(at: 3) & 0x0FFF) != nil
        }
        return containsAddress(event)
    }

    private func containsAddress(_ bytes: [UInt8]) -> Bool {
        guard bytes.count >= 6 else { return false }
        return (0...(bytes.count - 6)).contains { bytes[$0..<($0 + 6)].elementsEqual(address) }
    }
}
