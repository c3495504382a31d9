package import Bluetooth
package import Captures

/// Reports drinks and host commands during live traffic, from several adapters and sniffers at once.
///
/// A drink that several sources receive counts once.
package final class CaptureWatch {
    private let out: LineBuffer
    private let device: BluetoothAddress?
    private let isJSON: Bool
    private var reassembler = ConversationReassembler()
    private let reader: DrinkReader
    private let lines: ATTLines?
    private var frame = 0
    /// The names of files and pipes by source number, for the output.
    private var sources: [UInt16: String] = [:]
    /// The ids of the open connections that were printed.
    private var reported: Set<Int> = []

    /// The source number of this machine's adapters.
    package static let ownAdapters: UInt16 = 0

    package var packets: Int { frame }
    package var tally: DrinkReader.Tally { reader.tally }
    /// The number of printed commands.
    package private(set) var commandCount = 0

    /// - Parameters:
    ///   - out: receives the output.
    ///   - options: the options for reading drinks. Their filter also applies to commands and PDUs.
    ///   - showsATT: whether to print every ATT PDU that passes the filter.
    ///   - isJSON: whether to print JSON Lines instead of text.
    package init(
        _ out: LineBuffer, _ options: DrinkReader.Options, showsATT: Bool = false, isJSON: Bool = false,
        isColoured: Bool = false
    ) {
        (self.out, device, self.isJSON) = (out, options.filter.device, isJSON)
        let drinkLines = DrinkLines(out, isRaw: options.isRaw, isColoured: isColoured)
        let commandLines = CommandLines(out, isColoured: isColoured)
        reader = DrinkReader(options) { delivery in
            if isJSON { drinkLines.json(delivery) } else { drinkLines.text(delivery) }
        }
        lines = showsATT ? ATTLines(out, isJSON: isJSON, filter: options.filter, isColoured: isColoured) : nil
        reader.onCommand = { [unowned self] command in
            commandCount += 1
            if isJSON { commandLines.json(command) } else { commandLines.text(command) }
        }
    }

    package func name(_ source: UInt16, _ name: String) { sources[source] = name }

    /// Decodes and prints a packet.
    /// - Parameter source: the source of the packet. Adapters of two sources are different, even with equal numbers.
    package func add(_ packet: CapturePacket, _ bytes: RawSpan, from source: UInt16) throws {
        frame += 1
        var packet = packet
        (packet.number, packet.adapter) = (frame, UInt32(source) << 16 | UInt32(packet.shortAdapter))
        lines?.start(at: packet.time)
        reader.start(at: packet.time)
        try reassembler.receive(packet, bytes) { try handle($0, $1, at: packet.time) }
    }

    package func addNames(from info: CaptureFileInfo) { reader.addNames(from: info) }

    /// Ends the input, and prints the drinks that were held until their device was known.
    package func finish() throws {
        try reassembler.finish { try handle($0, $1, at: nil) }
        try reader.finishCapture()
    }

    private func handle(_ event: ConversationEvent, _ bytes: RawSpan, at time: Duration?) throws {
        switch event {
        case .connected(let connection): report("connected", connection, time)
        case .disconnected(let connection, let reason):
            if reported.contains(connection.id) {
                report(
                    reason.map { "disconnected, reason 0x\(String($0, radix: 16))" } ?? "disconnected", connection, time
                )
            }
            reported.remove(connection.id)
        case .encrypted(let connection): report("encrypted: its traffic cannot be read", connection, time)
        default: break
        }
        try lines?.receive(event, bytes)
        try reader.receive(event, bytes)
    }

    /// Prints a text line about a connection. JSON output has only drinks and commands.
    private func report(_ event: String, _ connection: ObservedConnection, _ time: Duration?) {
        if let device, connection.peer != device { return }
        // The limit bounds the memory for captures with very many connections.
        if reported.count < 4096 { reported.insert(connection.id) }
        guard !isJSON else { return }
        let number = UInt16(connection.adapter >> 16)
        let source = number == Self.ownAdapters ? "hci\(connection.adapter)" : sources[number] ?? "source \(number)"
        let peer = connection.peer?.description ?? "connection \(connection.id)"
        out.put(text: "\(time.map { timestampText($0) + "  " } ?? "")\(source)  \(peer)  \(event)\n")
    }
}
