import Bluetooth
import Captures

/// Looks on while others talk: tells drinks and what the host asked for as they pass, from several adapters and
/// sniffers at once.
///
/// All of them are one conversation: a bottle that an adapter and a sniffer both hear drinks once.
package final class CaptureWatch {
    /// What is told.
    package struct Options {
        /// As `drinks` reads; `bottle` holds for commands too.
        package var drinks: DrinkReader.Options
        /// Every ATT PDU that the filter lets through.
        package var showsATT = false
        /// One JSON object a line instead of text.
        package var isJSON = false
        /// With the colours of a terminal.
        package var isColoured = false

        package init(_ drinks: DrinkReader.Options) { self.drinks = drinks }
    }

    private let out: LineBuffer
    private let options: Options
    private var reassembler = ConversationReassembler.ofBottles()
    private let drinks: DrinkReader
    private let commands: CommandReader
    private let lines: ATTLines?
    private var frame = 0
    /// Names of files and pipes by their number.
    private var sources: [UInt16: String] = [:]
    /// Whose connections were told.
    private var told: Set<Int> = []

    /// The source that adapters of this machine are.
    package static let ownAdapters: UInt16 = 0

    /// How many packets there were.
    package var packets: Int { frame }
    /// What became of the drinks up to now.
    package var tally: DrinkReader.Tally { drinks.tally }
    /// Commands and PDUs that were told.
    package private(set) var commandCount = 0

    /// Before the first packet. What is told goes to `out`.
    package init(_ out: LineBuffer, _ options: Options) {
        (self.out, self.options) = (out, options)
        let drinkLines = DrinkLines(out, isRaw: options.drinks.isRaw, isColoured: options.isColoured)
        let commandLines = CommandLines(out, isColoured: options.isColoured)
        let isJSON = options.isJSON
        drinks = DrinkReader(options.drinks) { delivery in
            if isJSON { drinkLines.json(delivery) } else { drinkLines.text(delivery) }
        }
        let counter = Counter()
        self.counter = counter
        commands = CommandReader(
            given: options.drinks.given, bottle: options.drinks.bottle, filter: options.drinks.filter
        ) { command in
            counter.count += 1
            if isJSON { commandLines.json(command) } else { commandLines.text(command) }
        }
        lines =
            options.showsATT
            ? ATTLines(out, isJSON: isJSON, filter: options.drinks.filter, isColoured: options.isColoured) : nil
    }

    private final class Counter { var count = 0 }
    private let counter: Counter

    /// How a file or a pipe is called.
    package func name(_ source: UInt16, _ name: String) { sources[source] = name }

    /// Takes a packet as it passes.
    /// - Parameter source: who heard it. Adapters of two sources are never the same one, whatever their numbers.
    package func take(_ packet: CapturePacket, _ bytes: RawSpan, from source: UInt16) throws {
        frame += 1
        var packet = packet
        (packet.number, packet.adapter) = (frame, UInt32(source) << 16 | packet.adapter & 0xFFFF)
        if let time = packet.time {
            lines?.start(at: time)
            drinks.start(at: time)
            commands.start(at: time)
        }
        try reassembler.receive(packet, bytes) { try see($0, $1, at: packet.time) }
        commandCount = counter.count
    }

    /// What a text capture says beside its packets.
    package func learn(_ head: CaptureFileFacts) {
        drinks.learn(head)
        commands.learn(head)
    }

    /// Nothing more passes: what was held back until it is known whose it is comes out.
    package func finish() throws {
        try reassembler.finish { try see($0, $1, at: nil) }
        try commands.finishCapture()
        try drinks.finishCapture()
        commandCount = counter.count
    }

    private func see(_ event: ConversationEvent, _ bytes: RawSpan, at time: Duration?) throws {
        switch event {
        case .connected(let connection): tell("connected", connection, time)
        case .disconnected(let connection, let reason):
            if told.contains(connection.id) {
                tell(
                    reason.map { "disconnected, reason 0x\(String($0, radix: 16))" } ?? "disconnected", connection, time
                )
            }
            told.remove(connection.id)
        case .encrypted(let connection): tell("encrypted: nothing of it can be read", connection, time)
        default: break
        }
        try lines?.receive(event, bytes)
        try commands.receive(event, bytes)
        try drinks.receive(event, bytes)
    }

    /// A line for people about a connection; scripts ask for drinks and commands.
    private func tell(_ what: String, _ connection: ObservedConnection, _ time: Duration?) {
        if let bottle = options.drinks.bottle, connection.peer != bottle { return }
        // A capture of very many connections fills no memory.
        if told.count < 4096 { told.insert(connection.id) }
        guard !options.isJSON else { return }
        if let time {
            MomentWriter().text(time, out)
            out.put("  ")
        }
        let source = UInt16(connection.adapter >> 16)
        out.put(text: source == Self.ownAdapters ? "hci\(connection.adapter)" : sources[source] ?? "source \(source)")
        out.put("  ")
        out.put(text: connection.peer?.description ?? "connection \(connection.id)")
        out.put("  ")
        out.put(text: what)
        out.put("\n")
    }
}
