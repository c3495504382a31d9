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
///     [22:21:20.4500] Normal: Updated Value of Characteristic FFE4 to 5054 000F …                  (iOS)
///     22:21:20.4500,Connected Device,Normal,Updated Value of Characteristic FFE4 to 5054 000F …    (iOS, CSV)
///
/// A line has a level (D V I A W E), a time of day and a message, separated by tabs. Times have no zone: read as UTC.
/// Values are in the I lines, and an A line repeats the value. A log exported at the level "Application" has only the A
/// lines, without the characteristic. The parser skips other lines, and spaces and `>` before a line, as in an email.
/// Source: published exports.
struct NRFConnectParser: LineParser {
    static let format = CaptureFormat(.nrfConnect, .text)
    private var clock = DayClock()
    private var hasDate = false
    private var peer: BluetoothAddress?
    /// Whether the previous line was the header with the date, so that this line can be `NAME (ADDRESS)`.
    private var expectsDevice = false
    private var isWriteRequest = false
    /// The value of the last I line, which its A line repeats.
    private var repeated: [UInt8]?

    static func detect(_ head: RawSpan, isLast: Bool) -> Detection {
        detectLines(head, isLast: isLast) { line, _ in
            var line = line
            line.skipQuotes()
            return line.hasPrefix("nRF Connect") || line.hasPrefix("nRF Toolbox")
                || line.hasPrefix("Timestamp,Source,Level,Line") || Entry(line) != nil
        }
    }

    mutating func begin(info: inout CaptureFileInfo) {
        info.linkTypes = [.text]
        info.addRemark("the log has no time zone: its times are read as UTC")
    }

    mutating func parse(_ line: TextLine, info: inout CaptureFileInfo, _ body: PacketSink) throws {
        guard let entry = Entry(line.text) else { return parseHeader(line.text, info: &info) }
        expectsDevice = false
        if !hasDate { info.addRemark("the log has no date: its times are shown as of 1970-01-01") }
        let time = clock.resolve(entry.timeOfDay)
        guard let (content, value) = try content(of: entry, info: &info) else { return }
        var direction: TrafficDirection?
        if case .value(let info) = content { direction = info.kind.direction }
        info.packets += 1
        try body(
            CapturePacket(number: info.packets, time: time, direction: direction, content: content), value.span.bytes)
    }

    private typealias Content = (PacketContent, value: [UInt8])

    private static let received: [(String, ValueInfo.Kind)] = [
        ("Notification received from ", .notification), ("Indication received from ", .indication),
        ("Read Response received from ", .read),
    ]

    private mutating func content(of entry: Entry, info: inout CaptureFileInfo) throws -> Content? {
        if entry.isApplication { return try repeatedValue(entry.message) }
        var message = entry.message
        for (text, kind) in Self.received where message.removePrefix(text) { return try value(kind, message) }
        if message.removePrefix("Updated Value of Characteristic ") { return try update(message) }
        if message.removePrefix("Data written to descr.") {
            repeated = nil
        } else if message.removePrefix("Data written to ") {
            return try value(isWriteRequest ? .writeRequest : .writeCommand, message)
        } else if message.hasPrefix("Writing command to characteristic ") {
            isWriteRequest = false
        } else if message.hasPrefix("Writing request to characteristic ")
            || message.hasPrefix("Writing to characteristic ")
        {
            isWriteRequest = true
        } else if message.removePrefix("Connected to ") || message.removePrefix("Connecting to ") {
            if let address = message.takeWord()?.prefix(17).address { storeAddress(address, info: &info) }
            if entry.message.hasPrefix("Connected") { return (.connection(isStart: true, peer: peer), []) }
        } else if message.hasPrefix("Disconnected") {
            return (.connection(isStart: false, peer: peer), [])
        }
        return nil
    }

    private static let malformed = MalformedLine(reason: "a value is not pairs of hex digits")

    /// Parses the message of an A line: `"(0x) 50-54-…" received`. Other lines can be between an I line and its A line.
    private mutating func repeatedValue(_ message: Text) throws -> Content? {
        var message = message
        guard message.removePrefix("\"(0x) ") else { return nil }
        let known = repeated
        repeated = nil
        guard let quote = message.lastIndex(of: UInt8(ascii: "\"")), let value = message[..<quote].hexBytes else {
            throw Self.malformed
        }
        guard value != known else { return nil }
        let kind: ValueInfo.Kind = message[quote...].hasPrefix("\" sent") ? .writeCommand : .notification
        return (.value(ValueInfo(kind: kind, characteristic: nil, handle: 0, peer: peer)), value)
    }

    /// Parses `UUID, value: (0x) 50-54-…` or `UUID, value: 0 bytes`.
    private mutating func value(_ kind: ValueInfo.Kind, _ message: Text) throws -> Content {
        var message = message
        guard var word = message.takeWord() else { throw Self.malformed }
        if word.hasSuffix(",") { word.removeLast() }
        message.skipBlanks()
        guard let (uuid, handle) = word.characteristic, message.removePrefix("value: ") else { throw Self.malformed }
        var value: [UInt8] = []
        if !message.hasPrefix("0 bytes") {
            guard message.removePrefix("(0x)"), let bytes = message.hexBytes else { throw Self.malformed }
            value = bytes
        }
        repeated = value
        return (.value(ValueInfo(kind: kind, characteristic: uuid, handle: handle, peer: peer)), value)
    }

    /// Parses an update of the iOS format: `FFE4 to 5054 000F 0E06.`
    private mutating func update(_ message: Text) throws -> Content {
        var message = message
        guard let (uuid, handle) = message.takeWord()?.characteristic else { throw Self.malformed }
        message.skipBlanks()
        guard message.removePrefix("to ") else { throw Self.malformed }
        var digits = message.trimmed
        if digits.hasSuffix(".") { digits.removeLast() }
        guard let value = digits.hexBytes else { throw Self.malformed }
        repeated = nil
        return (.value(ValueInfo(kind: .notification, characteristic: uuid, handle: handle, peer: peer)), value)
    }

    private mutating func parseHeader(_ line: Text, info: inout CaptureFileInfo) {
        if let head = HeaderLine(line) {
            expectsDevice = true
            if let day = head.day { (clock, hasDate) = (DayClock(day), true) }
            return
        }
        guard expectsDevice else { return }
        expectsDevice = false
        var line = line
        line.skipQuotes()
        guard let open = line.lastIndex(of: UInt8(ascii: "(")), line[open...].dropFirst(18).hasPrefix(")"),
            let address = line[open...].dropFirst().prefix(17).address
        else { return }
        storeAddress(address, info: &info)
        let name = line[..<open].trimmed.prefix(255).string
        guard !name.isEmpty else { return }
        if info.name == nil { info.name = name }
        info.addName(name, of: address)
    }

    private mutating func storeAddress(_ address: BluetoothAddress, info: inout CaptureFileInfo) {
        peer = address
        if info.address == nil { info.address = address }
    }

    /// The header line: `nRF Connect, 2026-02-02`.
    struct HeaderLine {
        /// The time since 1970; `nil` if the line has no date.
        var day: Duration?

        init?(_ line: Text) {
            var line = line
            line.skipQuotes()
            guard line.removePrefix("nRF Connect, ") || line.removePrefix("nRF Toolbox, ") else { return nil }
            day = TextTime.date(line.trimmed.prefix(10))
        }
    }

    /// A log entry: level, time, message.
    struct Entry {
        var timeOfDay: Duration
        var message: Text
        var isApplication: Bool

        init?(_ line: Text) {
            var line = line
            line.skipQuotes()
            if line.removePrefix("[") {
                guard let bracket = line.firstIndex(of: UInt8(ascii: "]")),
                    let time = TextTime.clock(line[..<bracket])
                else { return nil }
                line = line[bracket...].dropFirst()
                guard let level = line.takeWord(), level.hasSuffix(":") else { return nil }
                (timeOfDay, isApplication) = (time, false)
            } else if let (time, text) = Self.csv(line) {
                (timeOfDay, isApplication, line) = (time, false, text)
            } else {
                guard let level = line.takeWord(), level.count == 1, "DVIAWE".utf8.contains(level[level.startIndex]),
                    let time = line.takeWord().flatMap({ TextTime.clock($0) })
                else { return nil }
                (timeOfDay, isApplication) = (time, level.hasPrefix("A"))
            }
            line.skipBlanks()
            message = line
        }

        private static let csvLevels = ["debug", "verbose", "info", "normal", "application", "warning", "error"]

        /// The time and the message of a line `time,source,level,message`.
        private static func csv(_ line: Text) -> (time: Duration, message: Text)? {
            let fields = line.split(separator: UInt8(ascii: ","), maxSplits: 3)
            guard fields.count == 4, let time = TextTime.clock(fields[0]),
                csvLevels.contains(fields[2].string.lowercased())
            else { return nil }
            let quote = UInt8(ascii: "\"")
            return (time, fields[3].first == quote ? fields[3].dropFirst().prefix { $0 != quote } : fields[3])
        }

        var hasValue: Bool {
            message.hasPrefix("Updated Value of Characteristic ")
                || message.indices.contains { message[$0...].hasPrefix("(0x) ") }
        }
    }
}

/// A log of nRF Connect inside another text, such as a README or an email. Its header line or two lines with values
/// identify it.
struct EmbeddedLogParser: FormatParser {
    private var log = NRFConnectParser()

    static func detect(_ head: RawSpan, isLast: Bool) -> Detection {
        var values = 0
        return NRFConnectParser.detectLines(head, isLast: isLast) { line, _ in
            if NRFConnectParser.HeaderLine(line) != nil { return true }
            if let entry = NRFConnectParser.Entry(line), entry.hasValue { values += 1 }
            return values == 2 ? true : nil
        }
    }

    mutating func read(_ window: RawSpan, isLast: Bool, info: inout CaptureFileInfo, _ body: PacketSink) throws -> Int {
        try log.read(window, isLast: isLast, info: &info, body)
    }
}

struct NRFConnectEncoder: FormatEncoder {
    private let names: [BluetoothAddress: String]
    private var peer: BluetoothAddress?
    private var date: String?

    init(_ info: CaptureFileInfo) {
        var names = info.names
        if let address = info.address, let name = info.name { names[address] = name }
        self.names = names
    }

    func begin(_ output: inout [UInt8]) {}

    mutating func write(_ packet: CapturePacket, _ bytes: RawSpan, _ output: inout [UInt8]) throws(CaptureError) -> Bool
    {
        guard let time = packet.time else {
            throw .notStorable("nRF Connect's log requires a time in every line, and record \(packet.number) has none")
        }
        let clock = TextEncoding.clock(time)
        switch packet.content {
        case .connection(let isStart, let peer):
            writeHeaderIfNeeded(time, peer, &output)
            let address = peer?.description ?? "00:00:00:00:00:00"
            output.append(
                isStart
                    ? "V\t\(clock)\tConnecting to \(address)...\nI\t\(clock)\tConnected to \(address)\n"
                    : "I\t\(clock)\tDisconnected\n")
        case .value(let info):
            guard let uuid = info.characteristic?.fullDescription.lowercased() else {
                throw .notStorable(
                    """
                    nRF Connect's log requires the UUID of each characteristic, and record \(packet.number) has only \
                    a handle: convert to hex text
                    """)
            }
            writeHeaderIfNeeded(time, info.peer, &output)
            writeValue(info.kind, uuid, clock, bytes, &output)
        default: throw .notStorable("nRF Connect's log cannot store \(packet.content.kindName)")
        }
        return true
    }

    /// Writes the I line with the value and the A line that repeats it; for writes also the line with their kind.
    private func writeValue(
        _ kind: ValueInfo.Kind, _ uuid: String, _ clock: String, _ bytes: RawSpan, _ output: inout [UInt8]
    ) {
        switch kind {
        case .writeCommand, .writeRequest:
            let name = kind == .writeCommand ? "command" : "request"
            output.append(
                "V\t\(clock)\tWriting \(name) to characteristic \(uuid)\nI\t\(clock)\tData written to \(uuid), value: ")
        case .notification: output.append("I\t\(clock)\tNotification received from \(uuid), value: ")
        case .indication: output.append("I\t\(clock)\tIndication received from \(uuid), value: ")
        case .read: output.append("I\t\(clock)\tRead Response received from \(uuid), value: ")
        }
        guard bytes.byteCount > 0 else { return output.append("0 bytes\n") }
        output.append("(0x) ")
        output.append(hex: bytes, separator: "-")
        output.append("\nA\t\(clock)\t\"(0x) ")
        output.append(hex: bytes, separator: "-")
        output.append(kind.direction == .sent ? "\" sent\n" : "\" received\n")
    }

    private mutating func writeHeaderIfNeeded(_ time: Duration, _ other: BluetoothAddress?, _ output: inout [UInt8]) {
        let today = TextEncoding.date(time)
        guard today != date || (other != nil && other != peer) else { return }
        date = today
        peer = other ?? peer
        output.append("nRF Connect, \(today)\n")
        if let peer { output.append("\(names[peer].map { TextEncoding.oneLine($0) } ?? "N/A") (\(peer))\n") }
    }
}
