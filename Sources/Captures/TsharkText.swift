import Bluetooth

/// Hex dumps of HCI packets: the output of `tshark -x`, and of `hcidump -R` (with `-t` also times).
///
///     0000  04 3e 13 01 00 41 00 00 00 d2 d1 31 38 c1 a4 18   .>...A.....18...
///     0010  00 00 00 f4 01 00                                 ......
///
///     2026-02-02 22:21:20.100000 > 04 3E 13 01 00 41 00 00 00 D2 D1 31 38 C1 A4 18 00 00 00 F4
///       01 00
///
/// Each packet starts with its H4 type. tshark's dump has neither time nor direction; hcidump's has the direction: `<`
/// sent, `>` received. Bytes that tshark reassembled from several packets follow the last of them, after a line
/// `Reassembled … (262 bytes):`, and are not a packet. With `-V` the packet's time and direction precede its bytes.
/// Other lines are skipped. Source: tshark 4.0, and `parser/parser.c` of BlueZ 5's hcidump.
struct HexDumpParser: LineParser {
    static let format = CaptureFormat(.hexDump, .h4)
    private var packet: [UInt8] = []
    private var direction: TrafficDirection?
    private var time: Duration?
    private var start = 0
    /// Whether the following bytes were reassembled from earlier packets.
    private var isReassembled = false
    /// The direction and time that `tshark -V` prints for the packet whose bytes follow.
    private var printedMetadata: (direction: TrafficDirection?, time: Duration?) = (nil, nil)
    /// The interface that `tshark -V` prints for the packet whose bytes follow.
    private var adapter: UInt32 = 0
    /// Whether the text has packets' fields.
    private var hasDetails = false
    /// The number of packets that are longer than their header states, or have no H4 type.
    private var malformedPackets = 0

    private enum Line {
        /// Bytes of a packet, from tshark (`offset`) or hcidump (`first`, `continuation`).
        case offset(Int, Text)
        case first(TrafficDirection, Duration?, Text)
        case continuation(Text)
        /// `Frame (67 bytes):`, or the heading of reassembled bytes.
        case source(isPacket: Bool)
        /// The start of a packet's fields, which `tshark -V` prints before its bytes.
        case details
        case direction(TrafficDirection)
        case epoch(Duration)
        case interface(UInt32)
        case other

        /// Parses a line. In a reply to an email, quote marks precede it.
        init(_ line: Text) {
            var rest = line
            self = Line(unquoted: rest)
            for _ in 0..<4 {
                guard case .other = self, rest.removePrefix(">") else { return }
                _ = rest.removePrefix(" ")
                self = Line(unquoted: rest)
            }
        }

        private init(unquoted line: Text) {
            self = .other
            var rest = line
            guard let word = rest.takeWord() else { return }
            let indent = word.startIndex - line.startIndex
            if let detail = Self.detail(line[word.startIndex...], indent: indent) {
                self = detail
            } else if indent == 0, (4...8).contains(word.count), rest.hasPrefix("  "),
                let offset = Int(word.string, radix: 16)
            {
                if Self.isDump(rest.dropFirst(2)) { self = .offset(offset, rest.dropFirst(2)) }
            } else if let direction = Self.arrow(word) {
                self = .first(direction, nil, rest)
            } else if let date = TextTime.date(word), let time = rest.takeWord().flatMap({ TextTime.clock($0) }),
                let direction = rest.takeWord().flatMap(Self.arrow)
            {
                self = .first(direction, date + time, rest)
            } else if indent == 2, word.count == 2, Self.isDump(line[word.startIndex...]) {
                self = .continuation(line[word.startIndex...])
            }
            // In hcidump's output, one space precedes the bytes of a packet.
            if case .first(let direction, let time, var packet) = self {
                let isPacket = packet.removePrefix(" ") && Self.isDump(packet) && HexDumpParser.isType(packet)
                self = isPacket ? .first(direction, time, packet) : .other
            }
        }

        private static func detail(_ text: Text, indent: Int) -> Line? {
            var text = text
            switch indent {
            case 0:
                let isFrame = text.removePrefix("Frame ")
                if text.hasSuffix(" bytes):") { return .source(isPacket: isFrame) }
                return isFrame ? .details : nil
            case 4:
                // tshark 4.2 and newer print "Epoch Arrival Time".
                if text.removePrefix("Epoch Time: ") || text.removePrefix("Epoch Arrival Time: ") {
                    return text.takeWord().flatMap { TextTime.epoch($0) }.map { .epoch($0) }
                }
                if text.removePrefix("Interface id: ") {
                    return text.takeWord()?.decimal.map { .interface(UInt32(UInt16(exactly: $0) ?? 0)) }
                }
                guard text.removePrefix("Point-to-Point Direction: ") else { return nil }
                return text.hasPrefix("Sent")
                    ? .direction(.sent) : text.hasPrefix("Received") ? .direction(.received) : nil
            default: return nil
            }
        }

        private static func arrow(_ word: Text) -> TrafficDirection? {
            switch word.string {
            case "<": .sent
            case ">": .received
            default: nil
            }
        }

        /// Whether the text starts with two hex digits, followed by a space or the end.
        static func isDump(_ text: Text) -> Bool {
            text.firstHexPair != nil && (text.count == 2 || text.dropFirst(2).hasPrefix(" "))
        }
    }

    private static func isType(_ text: Text) -> Bool { text.firstHexPair.map { (1...5).contains($0) } ?? false }

    static func detect(_ head: RawSpan, isLast: Bool) -> Detection {
        // The first lines can name the program. With -V, tshark prints more of them before the link type.
        var count = 0, hasDetails = false
        return detectLines(head, isLast: isLast) { line, isCompleteLine in
            switch Line(line) {
            case .first where isCompleteLine: return true
            case .offset(0, let dump) where isType(dump): return true
            case .details: hasDetails = true
            default: break
            }
            var rest = line
            rest.skipQuotes()
            if hasDetails, rest.removePrefix("Encapsulation type: ") { return rest.hasPrefix("Bluetooth H4") }
            count += 1
            return count == (hasDetails ? 40 : 4) ? false : nil
        }
    }

    mutating func parse(_ line: TextLine, info: inout CaptureFileInfo, _ body: PacketSink) throws {
        switch Line(line.text) {
        case .offset where isReassembled: break
        case .offset(let offset, let dump):
            if offset == 0 {
                try begin(printedMetadata.direction, printedMetadata.time, line.offset, info: &info, body)
                printedMetadata = (nil, nil)
            }
            guard offset == packet.count else {
                throw CaptureError(
                    .malformed, at: line.offset,
                    """
                    this line starts at byte \(offset) of its packet, but the lines before have \(packet.count) bytes: \
                    lines are missing here; everything before it was read
                    """)
            }
            append(dump)
        case .first(let direction, let time, let dump):
            try begin(direction, time, line.offset, info: &info, body)
            append(dump)
        case .continuation(let dump):
            if direction != nil, !packet.isEmpty { append(dump) }
        case .source(let isPacket):
            try deliver(info: &info, body)
            isReassembled = !isPacket
        case .details:
            try deliver(info: &info, body)
            (isReassembled, printedMetadata, adapter, hasDetails) = (false, (nil, nil), 0, true)
        case .direction(let direction): printedMetadata.direction = direction
        case .epoch(let time): printedMetadata.time = time
        case .interface(let number): adapter = number
        case .other:
            isReassembled = false
            // A partial line can belong to the next packet.
            if line.isComplete { try deliver(info: &info, body) }
        }
        guard packet.count <= longestPacket else {
            throw CaptureError.tooLong(record: info.packets + 1, start: start, length: UInt64(packet.count))
        }
    }

    mutating func finish(end: Int, info: inout CaptureFileInfo, _ body: PacketSink) throws {
        let needed = HCIPacketType.length(ofH4: packet[...]) ?? packet.count
        guard packet.count >= needed || packet.isEmpty else {
            throw CaptureError.truncated(record: info.packets + 1, start: start, end: end, needed: needed)
        }
        try deliver(info: &info, body)
        if hasDetails, info.packets == 0 {
            throw CaptureError(
                .unsupported, at: 0, "this text of tshark has no packet bytes: create it with tshark -V -x")
        }
        if malformedPackets * 2 > info.packets {
            throw CaptureError(
                .unsupported, at: 0,
                """
                \(malformedPackets) of \(info.packets) packets of this dump are not Bluetooth H4 packets: create it \
                with tshark -T json -x
                """)
        }
    }

    private mutating func begin(
        _ direction: TrafficDirection?, _ time: Duration?, _ lineOffset: Int, info: inout CaptureFileInfo,
        _ body: PacketSink
    ) throws {
        try deliver(info: &info, body)
        (self.direction, self.time, start) = (direction, time, lineOffset)
    }

    private mutating func append(_ dump: Text) {
        var rest = dump
        while Line.isDump(rest), let byte = rest.firstHexPair {
            packet.append(byte)
            rest = rest.dropFirst(3)
        }
    }

    private mutating func deliver(info: inout CaptureFileInfo, _ body: PacketSink) throws {
        guard !packet.isEmpty else { return }
        info.packets += 1
        let needed = HCIPacketType.length(ofH4: packet[...]) ?? packet.count
        if !(1...5).contains(packet[0]) || packet.count > needed { malformedPackets += 1 }
        let record = CapturePacket(
            number: info.packets, time: time, adapter: adapter, direction: direction,
            missing: max(0, needed - packet.count), content: .unknown)
        let bytes = packet
        packet.removeAll(keepingCapacity: true)
        (direction, time) = (nil, nil)
        try record.deliverH4(bytes.span.bytes, info: &info, body)
    }
}

/// The output of `tshark -T json -x`: each packet's bytes, time, number and protocols.
///
///     "frame_raw": [
///       "043e13010041000000d2d13138c1a418000000f40100",
///       …
///     "frame": {
///       "frame.time_epoch": "1795237335.059486000",
///       "frame.number": "1",
///       "frame.p2p_dir": "1",
///       "frame.protocols": "bluetooth:hci_h4:bthci_evt"
///
/// The parser reads the JSON line by line, as tshark prints it. The packet type, direction and adapter are in fields
/// named after the capture's format. Without `-x` the output has no bytes. Source: tshark 4.0.
struct TsharkJSONParser: LineParser {
    static let format = CaptureFormat(.tsharkJSON, .h4WithDirection)
    private var raw: [UInt8]?
    private var packet = Self.none
    private var number = 0
    /// The bytes of a Linux monitor record, stored until the lines with its adapter and opcode are read.
    private var monitorRecord: [UInt8]?
    private var adapter: UInt16 = 0
    private var expectsRaw = false
    private var isClosed = false
    private var frames = 0

    private static let none = CapturePacket(number: 0, time: nil, direction: nil, content: .unknown)

    static func detect(_ head: RawSpan, isLast: Bool) -> Detection {
        var lines = 0
        return detectLines(head, isLast: isLast) { line, _ in
            guard line.trimmed.hasPrefix(lines == 0 ? "[" : lines == 1 ? "{" : "\"_index\": ") else { return false }
            lines += 1
            return lines == 3 ? true : nil
        }
    }

    mutating func begin(info: inout CaptureFileInfo) {}

    mutating func finish(end: Int, info: inout CaptureFileInfo, _ body: PacketSink) throws {
        guard isClosed else {
            throw CaptureError(
                .truncated, at: end,
                "the file ends at byte \(end), before the end of the JSON array; everything before it was read")
        }
        if frames > 0, info.packets == 0 {
            throw CaptureError(
                .unsupported, at: 0,
                """
                this JSON of tshark has no packet bytes or no protocol names: create it with tshark -T json -x \
                (not -T jsonraw)
                """)
        }
    }

    mutating func parse(_ line: TextLine, info: inout CaptureFileInfo, _ body: PacketSink) throws {
        if expectsRaw {
            expectsRaw = false
            guard let bytes = Self.quoted(line.text)?.hexBytes else {
                throw MalformedLine(reason: "a packet's bytes are not pairs of hex digits")
            }
            raw = bytes
            return
        }
        if line.text.hasPrefix("]") { isClosed = true }
        var value = line.text.trimmed
        guard value.removePrefix("\"") else { return }
        let key = value.prefix { $0 != UInt8(ascii: "\"") }
        value.removeFirst(key.count)
        guard value.removePrefix("\": ") else { return }
        let text = Self.quoted(value), number = text?.decimal
        switch key.string {
        case "_index":
            frames += 1
            (raw, packet, self.number, monitorRecord, adapter) = (nil, Self.none, 0, nil, 0)
        case "frame_raw": expectsRaw = value.hasPrefix("[")
        case "frame.time_epoch": packet.time = text.flatMap { TextTime.epoch($0) }
        case "frame.number": self.number = Int(number ?? 0)
        case "frame.interface_id": packet.adapter = UInt32(number.flatMap { UInt16(exactly: $0) } ?? 0)
        case "frame.p2p_dir": packet.direction = number == 0 ? .sent : number == 1 ? .received : nil
        case "frame.protocols":
            guard let text, let raw else { break }
            self.raw = nil
            try deliver(raw, text.string, info: &info, body)
        case "hci_mon.adapter_id": adapter = number.flatMap { UInt16(exactly: $0) } ?? 0
        case "hci_mon.opcode":
            guard let record = monitorRecord else { break }
            monitorRecord = nil
            guard let opcode = number.flatMap({ UInt16(exactly: $0) }) else { break }
            packet.setMonitor(opcode: opcode, adapter: adapter)
            try body(packet, record.span.bytes)
        default: break
        }
    }

    private static let linkTypes: [(prefix: String, LinkType)] = [
        ("bluetooth:hci_h4", .h4WithDirection), ("bluetooth:btle_rf", .linkLayerWithRadio),
        ("btle_rf", .linkLayerWithRadio), ("bluetooth:btle", .linkLayer), ("btle", .linkLayer),
        ("nordic_ble", .nordic), ("bluetooth:hci_mon", .monitor), ("bluetooth:packetlogger", .packetLogger),
        ("bluetooth:hci_h1:bthci_", .h1),
    ]
    private static let h1Types: [(prefix: String, HCIPacketType)] = [
        ("bluetooth:hci_h1:bthci_acl", .acl), ("bluetooth:hci_h1:bthci_evt", .event),
        ("bluetooth:hci_h1:bthci_cmd", .command),
    ]

    private mutating func deliver(
        _ raw: [UInt8], _ protocols: String, info: inout CaptureFileInfo, _ body: PacketSink
    ) throws {
        // Use the packet number of tshark, because a display filter leaves gaps.
        info.packets = max(info.packets + 1, number)
        packet.number = info.packets
        let bytes = raw.span.bytes
        guard let linkType = Self.linkTypes.first(where: { protocols.hasPrefix($0.prefix) })?.1 else {
            return try packet.deliverUnread(bytes, info: &info, body)
        }
        if info.linkTypes.isEmpty { info.format = nil }
        info.addLinkType(linkType, of: .tsharkJSON)
        switch linkType {
        case .h4WithDirection: try packet.deliverH4(bytes, info: &info, body)
        case .monitor: monitorRecord = raw
        case .packetLogger where !raw.isEmpty:
            packet.setPacketLogger(type: raw[0])
            try body(packet, bytes.extracting(1..<raw.count))
        case .h1:
            packet.content = Self.h1Types.first { protocols.hasPrefix($0.prefix) }.map { .hci($0.1) } ?? .unknown
            try body(packet, bytes)
        default: try packet.deliver(linkType, bytes, info: &info, body)
        }
    }

    private static func quoted(_ text: Text) -> Text? {
        var text = text.trimmed
        guard text.removePrefix("\""), let end = text.firstIndex(of: UInt8(ascii: "\"")) else { return nil }
        return text[..<end]
    }
}
