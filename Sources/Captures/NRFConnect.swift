import Bluetooth

/// The plain-text log that nRF Connect exports (Android "share log"; the iOS format is also supported).
///
///     nRF Connect, 2026-02-02
///     WaterH-Boost-24oz (A4:C1:38:01:02:03)
///     V  22:21:20.000  Connecting to A4:C1:38:01:02:03...
///     I  22:21:20.100  Connected to A4:C1:38:01:02:03
///     V  22:21:20.390  Writing command to characteristic 0000ffe9-0000-1000-8000-00805f9b34fb
///     I  22:21:20.400  Data written to 0000ffe9-0000-1000-8000-00805f9b34fb, value: (0x) 47-54-00-01-06
///     A  22:21:20.400  "(0x) 47-54-00-01-06" sent
///     I  22:21:20.450  Notification received from 0000ffe4-0000-1000-8000-00805f9b34fb, value: (0x) 50-54-00-…
///     A  22:21:20.450  "(0x) 50-54-00-…" received
///     I  22:21:21.000  Disconnected
///     [22:21:20.4500] Normal: Updated Value of Characteristic FFE4 to 5054 000F …        (iOS)
///
/// A line has, separated by tabs, a level (D V I A W E), a time of day without a zone (read as UTC) and a message.
/// Values are in the I lines. An A line repeats the value. It counts only without an I line before it (a log exported
/// at the level "Application"), and then the characteristic is unknown. The parser skips other lines, and spaces and
/// `>` before a line, as in a README or an email. Source: published exports.
struct NRFConnectParser: LineParser {
    static let format = CaptureFormat(.nrfConnect, .text)
    var line = 0
    private var clock = DayClock()
    private var hasDate = false
    private var peer: BluetoothAddress?
    /// Whether the previous line was the header with the date, so that this line can be `NAME (ADDRESS)`.
    private var expectsDevice = false
    private var isWriteRequest = false
    /// The bytes of the last I line, for its A line.
    private var repeated: [UInt8]?
    private var value: [UInt8] = []

    static func sniff(_ head: RawSpan, isLast: Bool) -> Sniff {
        sniffLines(head, isLast: isLast) { line, _ in
            var line = line
            line.skipQuotes(head)
            return head.has("nRF Connect", at: line.at) || head.has("nRF Toolbox", at: line.at)
                || Entry(line, head) != nil
        }
    }

    mutating func begin(facts: inout CaptureFileFacts) {
        facts.linkTypes = [.text]
        facts.remark("the log's times have no zone: they are taken as UTC")
    }

    private static let received: [(StaticString, ValueFacts.Travel)] = [
        ("Notification received from ", .notification), ("Indication received from ", .indication),
        ("Read Response received from ", .read),
    ]
    private static let requests: [StaticString] = [
        "Writing request to characteristic ", "Writing to characteristic ",
    ]

    mutating func take(
        _ line: TextLine, _ bytes: RawSpan, place: Int, isComplete: Bool, facts: inout CaptureFileFacts,
        _ body: PacketBody
    ) throws {
        guard let entry = Entry(line, bytes) else { return readHead(line, bytes, facts: &facts) }
        expectsDevice = false
        if !hasDate { facts.remark("the log names no date: its times are taken as of 1970-01-01") }
        let time = clock.take(entry.timeOfDay)
        var message = entry.message
        guard let content = try content(&message, entry, bytes, facts: &facts) else { return }
        var direction: TrafficDirection?
        if case .value(let facts) = content { direction = facts.travel.direction }
        facts.packets += 1
        try body(
            CapturePacket(number: facts.packets, time: time, direction: direction, content: content), value.span.bytes)
    }

    private mutating func content(
        _ message: inout TextLine, _ entry: Entry, _ bytes: RawSpan, facts: inout CaptureFileFacts
    ) throws -> PacketContent? {
        // Other lines can be between an I line and its A line.
        let repeated = repeated
        if entry.isApplication {
            guard message.take("\"(0x) ", bytes) else { return nil }
            self.repeated = nil
            let rest = message.rest(bytes)
            guard let quote = rest.last(where: { bytes.u8($0) == UInt8(ascii: "\"") }),
                bytes.hexBytes(rest.lowerBound..<quote, into: &value)
            else { throw Self.malformed }
            guard value != repeated else { return nil }
            let travel: ValueFacts.Travel = bytes.has("\" sent", at: quote) ? .writeCommand : .notification
            return .value(ValueFacts(travel: travel, characteristic: nil, handle: 0, peer: peer))
        }
        for (text, travel) in Self.received where message.take(text, bytes) {
            return try readValue(travel, &message, bytes)
        }
        if message.take("Updated Value of Characteristic ", bytes) { return try readUpdate(&message, bytes) }
        if message.take("Data written to descr.", bytes) {
            self.repeated = nil
        } else if message.take("Data written to ", bytes) {
            return try readValue(isWriteRequest ? .writeRequest : .writeCommand, &message, bytes)
        } else if message.take("Writing command to characteristic ", bytes) {
            isWriteRequest = false
        } else if Self.requests.contains(where: { message.take($0, bytes) }) {
            isWriteRequest = true
        } else if message.take("Connected to ", bytes) || message.take("Connecting to ", bytes) {
            if let word = message.word(bytes), let address = bytes.address(word.prefix(17)) {
                note(address, facts: &facts)
            }
            guard bytes.has("Connected", at: entry.message.at) else { return nil }
            value.removeAll(keepingCapacity: true)
            return .connection(isBegin: true, peer: peer)
        } else if message.take("Disconnected", bytes) {
            value.removeAll(keepingCapacity: true)
            return .connection(isBegin: false, peer: peer)
        }
        return nil
    }

    private static let malformed = MalformedLine(what: "a value is not pairs of hex digits")

    /// Parses `UUID, value: (0x) 50-54-…` or `UUID, value: 0 bytes`.
    private mutating func readValue(_ travel: ValueFacts.Travel, _ message: inout TextLine, _ bytes: RawSpan) throws
        -> PacketContent
    {
        guard var word = message.word(bytes) else { throw Self.malformed }
        if let last = word.last, bytes.u8(last) == UInt8(ascii: ",") { word.removeLast() }
        guard let (uuid, handle) = bytes.characteristic(word) else { throw Self.malformed }
        message.skipBlanks(bytes)
        guard message.take("value: ", bytes) else { throw Self.malformed }
        value.removeAll(keepingCapacity: true)
        if !message.take("0 bytes", bytes) {
            guard message.take("(0x)", bytes), bytes.hexBytes(message.rest(bytes), into: &value) else {
                throw Self.malformed
            }
        }
        repeated = value
        return .value(ValueFacts(travel: travel, characteristic: uuid, handle: handle, peer: peer))
    }

    /// Parses an update of the iOS format: `FFE4 to 5054 000F 0E06.`
    private mutating func readUpdate(_ message: inout TextLine, _ bytes: RawSpan) throws -> PacketContent {
        guard let word = message.word(bytes), let (uuid, handle) = bytes.characteristic(word) else {
            throw Self.malformed
        }
        message.skipBlanks(bytes)
        guard message.take("to ", bytes) else { throw Self.malformed }
        var rest = message.rest(bytes)
        if let last = rest.last, bytes.u8(last) == UInt8(ascii: ".") { rest.removeLast() }
        guard bytes.hexBytes(rest, into: &value) else { throw Self.malformed }
        repeated = nil
        return .value(ValueFacts(travel: .notification, characteristic: uuid, handle: handle, peer: peer))
    }

    private mutating func readHead(_ line: TextLine, _ bytes: RawSpan, facts: inout CaptureFileFacts) {
        if let head = HeadLine(line, bytes) {
            expectsDevice = true
            if let day = head.day { (clock, hasDate) = (DayClock(day), true) }
            return
        }
        guard expectsDevice else { return }
        expectsDevice = false
        var line = line
        line.skipQuotes(bytes)
        let rest = line.rest(bytes)
        guard let open = rest.last(where: { bytes.u8($0) == UInt8(ascii: "(") }), rest.upperBound - open >= 19,
            let address = bytes.address(open + 1..<open + 18)
        else { return }
        note(address, facts: &facts)
        var name = TextLine(at: rest.lowerBound, end: open)
        let text = bytes.text(name.rest(bytes).prefix(255))
        guard !text.isEmpty else { return }
        if facts.name == nil { facts.name = text }
        facts.learn(name: text, of: address)
    }

    private mutating func note(_ address: BluetoothAddress, facts: inout CaptureFileFacts) {
        peer = address
        if facts.address == nil { facts.address = address }
    }

    /// The header line: `nRF Connect, 2026-02-02`.
    struct HeadLine {
        /// The time since 1970; `nil` if the line has no date.
        var day: Duration?

        init?(_ line: TextLine, _ bytes: RawSpan) {
            var line = line
            line.skipQuotes(bytes)
            guard line.take("nRF Connect, ", bytes) || line.take("nRF Toolbox, ", bytes) else { return nil }
            day = TextTime.date(bytes, line.rest(bytes).prefix(10))
        }
    }

    /// A log entry: level, time, message.
    struct Entry {
        var timeOfDay: Duration
        var message: TextLine
        var isApplication: Bool

        init?(_ line: TextLine, _ bytes: RawSpan) {
            var line = line
            line.skipQuotes(bytes)
            if line.take("[", bytes) {
                guard let bracket = (line.at..<line.end).first(where: { bytes.u8($0) == UInt8(ascii: "]") }),
                    let time = TextTime.clock(bytes, line.at..<bracket)
                else { return nil }
                line.at = bracket + 1
                guard let level = line.word(bytes), bytes.u8(level.upperBound - 1) == UInt8(ascii: ":") else {
                    return nil
                }
                (timeOfDay, isApplication) = (time, false)
            } else {
                guard let level = line.word(bytes), level.count == 1,
                    "DVIAWE".utf8.contains(bytes.u8(level.lowerBound)),
                    let word = line.word(bytes), let time = TextTime.clock(bytes, word)
                else { return nil }
                (timeOfDay, isApplication) = (time, bytes.u8(level.lowerBound) == UInt8(ascii: "A"))
            }
            line.skipBlanks(bytes)
            message = line
        }

        func holdsValue(_ bytes: RawSpan) -> Bool {
            (message.at..<message.end).contains { bytes.has("(0x) ", at: $0) }
                || bytes.has("Updated Value of Characteristic ", at: message.at)
        }
    }
}

/// A log of nRF Connect inside a text: in a fenced or indented block of a README, or quoted in an email. Its header
/// line or two lines with values identify it.
struct EmbeddedLogParser: FormatParser {
    private var log = NRFConnectParser()

    static func sniff(_ head: RawSpan, isLast: Bool) -> Sniff {
        var values = 0
        return NRFConnectParser.sniffLines(head, isLast: isLast) { line, _ in
            if NRFConnectParser.HeadLine(line, head) != nil { return true }
            if let entry = NRFConnectParser.Entry(line, head), entry.holdsValue(head) { values += 1 }
            return values == 2 ? true : nil
        }
    }

    mutating func read(_ window: RawSpan, isLast: Bool, facts: inout CaptureFileFacts, _ body: PacketBody) throws -> Int
    {
        try log.read(window, isLast: isLast, facts: &facts, body)
    }
}

struct NRFConnectEncoder: FormatEncoder {
    private let names: [BluetoothAddress: String]
    private var peer: BluetoothAddress?
    private var date: String?

    init(_ facts: CaptureFileFacts) {
        var names = facts.names
        if let address = facts.address, let name = facts.name { names[address] = name }
        self.names = names
    }

    func begin(_ output: inout [UInt8]) {}

    mutating func write(_ packet: CapturePacket, _ bytes: RawSpan, _ output: inout [UInt8]) throws(CaptureError) -> Bool
    {
        guard let time = packet.time else {
            throw .cannotCarry("nRF Connect's log has a time in every line, and record \(packet.number) has none")
        }
        let clock = TextEncoding.clock(time)
        switch packet.content {
        case .connection(let isBegin, let peer):
            startPage(time, peer, &output)
            let address = peer?.description ?? "00:00:00:00:00:00"
            output.append(
                isBegin
                    ? "V\t\(clock)\tConnecting to \(address)...\nI\t\(clock)\tConnected to \(address)\n"
                    : "I\t\(clock)\tDisconnected\n")
        case .value(let facts):
            guard let uuid = facts.characteristic?.fullDescription.lowercased() else {
                throw .cannotCarry(
                    """
                    nRF Connect's log names characteristics by UUID, and in record \(packet.number) only a handle \
                    is known: convert to hex text, or name the handles
                    """)
            }
            startPage(time, facts.peer, &output)
            writeValue(facts.travel, uuid, clock, bytes, &output)
        default: throw .cannotCarry("nRF Connect's log has no place for \(packet.content.kindInWords)")
        }
        return true
    }

    /// Writes the I line with the value and the A line that repeats it; for writes also the line with their kind.
    private func writeValue(
        _ travel: ValueFacts.Travel, _ uuid: String, _ clock: String, _ bytes: RawSpan, _ output: inout [UInt8]
    ) {
        switch travel {
        case .writeCommand, .writeRequest:
            let kind = travel == .writeCommand ? "command" : "request"
            output.append(
                "V\t\(clock)\tWriting \(kind) to characteristic \(uuid)\nI\t\(clock)\tData written to \(uuid), value: ")
        case .notification: output.append("I\t\(clock)\tNotification received from \(uuid), value: ")
        case .indication: output.append("I\t\(clock)\tIndication received from \(uuid), value: ")
        case .read: output.append("I\t\(clock)\tRead Response received from \(uuid), value: ")
        }
        guard bytes.byteCount > 0 else { return output.append("0 bytes\n") }
        output.append("(0x) ")
        output.append(hex: bytes, separator: "-")
        output.append("\nA\t\(clock)\t\"(0x) ")
        output.append(hex: bytes, separator: "-")
        output.append(travel.direction == .sent ? "\" sent\n" : "\" received\n")
    }

    private mutating func startPage(_ time: Duration, _ other: BluetoothAddress?, _ output: inout [UInt8]) {
        let today = TextEncoding.date(time)
        guard today != date || (other != nil && other != peer) else { return }
        date = today
        peer = other ?? peer
        output.append("nRF Connect, \(today)\n")
        if let peer { output.append("\(names[peer].map { TextEncoding.oneLine($0) } ?? "N/A") (\(peer))\n") }
    }
}
