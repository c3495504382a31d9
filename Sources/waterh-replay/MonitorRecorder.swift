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
