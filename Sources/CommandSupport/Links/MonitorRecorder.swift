package import Bluetooth
package import BlueZ
package import Captures
import Replay

/// Converts packets of the HCI monitor channel to a capture, and counts them.
package struct MonitorRecorder {
    private let adapter: UInt16?
    private var filter: BottleFilter?
    private var writer: CaptureWriter
    private var reassembler = ConversationReassembler()
    private let reader: DrinkReader
    private var packets = 0
    private var pdus = 0
    private var connections = 0

    /// - Parameters:
    ///   - adapter: the index of the adapter to record; `nil` for all adapters.
    ///   - bottle: the bottle to record; `nil` for all traffic.
    package init(_ format: CaptureFormat, adapter: UInt16?, bottle: BluetoothAddress?) {
        self.adapter = adapter
        filter = bottle.map(BottleFilter.init)
        writer = CaptureWriter(format)
        // The reader only counts drinks, so the year has no effect.
        reader = DrinkReader(DrinkReader.Options(hostYear: 2026)) { _ in }
    }

    /// A summary: `120 packets, 1 connection, 33 ATT PDUs, 40 drinks`.
    package var summary: String {
        [
            counted(packets, "packet"), counted(connections, "connection"), counted(pdus, "ATT PDU"),
            counted(reader.tally.drinks, "drink"),
        ].joined(separator: ", ")
    }

    package mutating func takeOutput() -> [UInt8] { writer.takeOutput() }

    /// Adds a packet; packets of other adapters and bottles are skipped.
    package mutating func add(_ packet: MonitorPacket) throws {
        guard adapter.map({ $0 == packet.adapter }) ?? true else { return }
        let capturePacket = CapturePacket(packet, number: packets + 1)
        guard filter?.selects(capturePacket.content, packet.bytes) ?? true else { return }
        packets += 1
        try writer.write(capturePacket, packet.bytes.span.bytes)
        let reader = reader
        var pdus = 0, connections = 0
        try reassembler.receive(capturePacket, packet.bytes.span.bytes) { event, bytes in
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
}

extension CapturePacket {
    /// Converts a packet of the HCI monitor channel. The btsnoop monitor format has the same opcodes.
    package init(_ packet: MonitorPacket, number: Int) {
        self.init(number: number, time: packet.time, direction: nil, content: .unknown)
        setMonitor(opcode: packet.opcode, adapter: packet.adapter)
    }
}
