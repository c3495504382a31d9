import Bluetooth
import Captures

/// Everything that this project reads out of a capture, as JSON lines: what an expectation file holds, and what two
/// captures are compared by.
///
/// The first line is about the file (`{"capture":{…}}`), then one for each command (`{"command":{…}}`) and each
/// delivery of a drink record, duplicates included (`{"drink":{…}}`), with the keys of `waterh-replay commands` and
/// `drinks --raw`.
package struct CaptureReading: Sendable, Equatable {
    /// The line about the file.
    package var head = ""
    /// A line for each command.
    package var commands: [String] = []
    /// A line for each delivery of a drink.
    package var drinks: [String] = []
    /// What stopped the reading; `nil`: it was read to its end.
    package var trouble: String?

    /// Of nothing.
    package init() {}

    /// Reads a capture whole. Trouble with its bytes is part of the result.
    ///
    /// - Parameter filter: only what these PDUs carry.
    package init(of path: String, hostYear: Int, filter: TrafficFilter = TrafficFilter()) throws {
        var digest = Digest()
        try digest.take(path)
        var file = CaptureFile(path: path)
        var bytes: [UInt8] = []
        let out = LineBuffer { bytes += $0 }
        func line(_ kind: StaticString, _ body: () -> Void) -> String {
            bytes.removeAll(keepingCapacity: true)
            out.put(kind)
            body()
            out.put("}")
            try? out.flush()
            return String(decoding: bytes, as: UTF8.self)
        }
        let drinkLines = DrinkLines(out, isRaw: true), commandLines = CommandLines(out)
        var options = DrinkReader.Options(hostYear: hostYear)
        options.isRaw = true
        options.bottle = filter.device
        options.filter = filter
        var drinks: [String] = [], commands: [String] = []
        let reader = DrinkReader(options) { delivery in
            bytes.removeAll(keepingCapacity: true)
            out.put(#"{"drink":"#)
            drinkLines.object(delivery)
            out.put("}")
            try out.flush()
            drinks.append(String(decoding: bytes, as: UTF8.self))
        }
        let commandReader = CommandReader(bottle: filter.device, filter: filter) { command in
            commands.append(line(#"{"command":"#) { commandLines.object(command) })
        }
        var pdus = 0
        reader.lookAhead = { Foresight(path) }
        commandReader.lookAhead(in: path)
        file.onHead = { head in
            reader.learn(head)
            commandReader.learn(head)
        }
        do {
            try file.forEachEvent { packet in
                guard let time = packet.time?.sinceEpoch else { return }
                reader.start(at: time)
                commandReader.start(at: time)
            } _: { event, pdu in
                if case .att(let observation) = event, !observation.isSynthetic { pdus += 1 }
                try reader.receive(event, pdu)
                try commandReader.receive(event, pdu)
            }
        } catch let error as CaptureError {
            trouble = error.description
        }
        let bottles = reader.peers.filter(\.isBottle)
        try reader.finishCapture()
        try commandReader.finishCapture()
        let tally = reader.tally
        (self.drinks, self.commands) = (drinks, commands)
        head = line(#"{"capture":"#) {
            out.put(#"{"format":"#)
            out.put(json: file.facts.format?.description)
            out.put(#","packets":"#)
            out.put(number: file.facts.packets)
            out.put(#","attPDUs":"#)
            out.put(number: pdus)
            out.put(#","bottles":""#)
            out.put(text: bottles.map { $0.address?.description ?? "?" }.joined(separator: " "))
            out.put(#"","drinks":"#)
            out.put(number: tally.drinks)
            out.put(#","millilitres":"#)
            out.put(number: tally.millilitres)
            out.put(#","commands":"#)
            out.put(number: commands.count)
            out.put(#","unfinishedTransfers":"#)
            out.put(number: tally.unfinishedTransfers)
            out.put(#","trouble":"#)
            out.put(json: trouble)
            out.put(#","digest":"#)
            out.put(json: digest.description)
            out.put("}")
        }
    }

    /// The text of an expectation file.
    package var text: String { ([head] + commands + drinks).map { $0 + "\n" }.joined() }
}

/// FNV-1a over a file's bytes: enough to notice a change, not made against forgers.
struct Digest: CustomStringConvertible {
    private var state: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func take(_ path: String) throws {
        var state = state
        try CaptureFile.forEachPiece(of: path) { piece in
            for byte in piece { state = (state ^ UInt64(byte)) &* 0x100_0000_01B3 }
        }
        self.state = state
    }

    var description: String {
        let digits = String(state, radix: 16)
        return "fnv1a:" + String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
