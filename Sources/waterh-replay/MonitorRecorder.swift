import Bluetooth
import Captures
import HostController
import Replay

/// Writes packets of the monitor channel into a capture, all of an adapter or only a bottle's, and counts what it sees.
struct MonitorRecorder {
    private let adapter: UInt16
    private var filter: BottleFilter?
    private var writer: CaptureWriter
    private var reassembler = ConversationReassembler()
    private let reader: DrinkReader
    private var packets = 0
    private var pdus = 0
    private var connections = 0

    init(_ format: CaptureFormat, adapter: UInt16, bottle: BluetoothAddress?) {
        self.adapter = adapter
        filter = bottle.map(BottleFilter.init)
        writer = CaptureWriter(format)
        // Only counts: the year of a strict record does not matter.
        reader = DrinkReader(DrinkReader.Options(hostYear: 2026)) { _ in }
    }

    /// For people: `120 packets, 1 connection, 33 ATT PDUs, 40 drinks`.
    var line: String {
        "\(count(packets, "packet")), \(count(connections, "connection")), \(count(pdus, "ATT PDU")), \(count(reader.tally.drinks, "drink"))"
    }

    mutating func takeOutput() -> [UInt8] { writer.takeOutput() }

    mutating func take(_ packet: MonitorPacket) throws {
        guard packet.adapter == adapter else { return }
        let content = Self.content(packet.opcode)
        guard filter?.wants(content, packet.bytes) ?? true else { return }
        packets += 1
        let made = CapturePacket(
            number: packets, time: CaptureTime(sinceEpoch: packet.time), adapter: UInt32(packet.adapter), direction: Self.direction(packet.opcode), content: content)
        try writer.write(made, packet.bytes.span.bytes)
        var pdus = 0, connections = 0
        try reassembler.receive(ObservedPacket(made), packet.bytes.span.bytes) { event, bytes in
            switch event {
            case .att: pdus += 1
            case .connected: connections += 1
            default: break
            }
            try reader.receive(event, bytes)
        }
        self.pdus += pdus
        self.connections += connections
    }

    /// The opcodes of btsnoop's monitor format (`capture-formats`, btsnoop).
    private static func content(_ opcode: UInt16) -> PacketContent {
        switch opcode {
        case 2: .hci(.command)
        case 3: .hci(.event)
        case 4, 5: .hci(.acl)
        case 6, 7: .hci(.sco)
        case 18, 19: .hci(.iso)
        default: .note(.monitor(opcode))
        }
    }

    private static func direction(_ opcode: UInt16) -> PacketDirection? {
        switch opcode {
        case 2, 4, 6, 18: .sent
        case 3, 5, 7, 19: .received
        default: nil
        }
    }
}

/// What concerns one bottle: its connections' traffic, and whatever names its address.
struct BottleFilter {
    private let address: [UInt8]
    private var handles: Set<UInt16> = []

    init(_ address: BluetoothAddress) { self.address = address.littleEndian }

    mutating func wants(_ content: PacketContent, _ bytes: [UInt8]) -> Bool {
        switch content {
        case .note: return true
        case .hci(.acl): return bytes.count >= 2 && handles.contains((UInt16(bytes[0]) | UInt16(bytes[1]) << 8) & 0x0FFF)
        case .hci(.event): return wantsEvent(bytes)
        case .hci(.command): return namesAddress(bytes)
        default: return false
        }
    }

    private mutating func wantsEvent(_ event: [UInt8]) -> Bool {
        // LE Connection Complete and its enhanced forms: code, length, subevent, status, handle(2), role, type, address(6).
        if event.count >= 14, event[0] == 0x3E, [0x01, 0x0A, 0x29].contains(event[2]), event[3] == 0 {
            let handle = (UInt16(event[4]) | UInt16(event[5]) << 8) & 0x0FFF
            guard Array(event[8..<14]) == address else {
                handles.remove(handle)
                return false
            }
            handles.insert(handle)
            return true
        }
        // Disconnection Complete: code, length, status, handle(2), reason.
        if event.count >= 5, event[0] == 0x05 {
            return handles.remove((UInt16(event[3]) | UInt16(event[4]) << 8) & 0x0FFF) != nil
        }
        return namesAddress(event)
    }

    private func namesAddress(_ bytes: [UInt8]) -> Bool {
        guard bytes.count >= 6 else { return false }
        return (0...(bytes.count - 6)).contains { bytes[$0..<($0 + 6)].elementsEqual(address) }
    }
}
