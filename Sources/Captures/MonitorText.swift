import Bluetooth

/// The text output of btmon 5.50 to 5.87: packets with one header line each, followed by indented fields. The parser
/// skips colours and anything before a line (journald, `ts`, an indentation).
///
///     Bluetooth monitor ver 5.66
///     > ACL Data RX: Handle 65 flags 0x02 dlen 14                 #33 [hci0] 0.066839
///           ATT: Handle Value Notification (0x1b) len 9
///             Handle: 0x0013
///               Data: 52500003020601
///     < LE-ACL: Handle 64 [A4:C1:38:31:D1:D2 (Public)] flags 0x00 dlen 7   #2 [hci0] 0.000839
///
/// A narrow terminal hides the connection handle: the parser then uses the last one. Times count from the recorder's
/// start, or (`-t`) from midnight, or (`-T`) have a date. The parser reads connections, ATT and advertised names. Any
/// other packet has no bytes. Source: `monitor/att.c` and `monitor/packet.c` of BlueZ.
struct MonitorTextParser: LineParser {
    static let format = CaptureFormat(.monitorText, .h4)
    private var fields = MonitorFields()
    private var head: Head?
    private var start = 0
    private var lastHandle: [UInt32: UInt16] = [:]
    private var skippedPDUs = 0
    private var endsWithLineBreak = true

    private struct Head {
        enum Kind { case acl(handle: UInt16?), event(String), other }

        var direction: TrafficDirection?
        var kind: Kind
        var adapter: UInt32 = 0
        var time: Duration?
        var hasDate = false

        /// The labels of btmon's notes, which are not HCI packets.
        private static let notes: Set<Substring> = [
            "New", "Delete", "Open", "Close", "Index", "Vendor", "Note:", "System", "MGMT", "RAW", "USER", "Unknown",
        ]
        private static let labels: Set<Substring> = [
            "HCI", "SCO", "ISO", "BR-SCO:", "BR-ESCO:", "LE-CIS:", "LE-BIS:", "User", "ACL",
        ]

        /// - Parameter line: the line without colours. Other text can precede the `<`, `>` or `@` of a packet: a time,
        ///   or the sending program (`bluetoothd[54321]: < ACL Data TX`).
        init?(_ line: Substring) {
            var isAfterBlank = true
            for at in line.utf8.indices.prefix(200) {
                let byte = line.utf8[at]
                if isAfterBlank, "<>=@".utf8.contains(byte),
                    let head = Head(symbol: byte, line[at...], isFirst: at == line.startIndex)
                {
                    self = head
                    return
                }
                isAfterBlank = byte == 0x20 || byte == 0x09
            }
            return nil
        }

        private init?(symbol: UInt8, _ text: Substring, isFirst: Bool) {
            let words = text.split(separator: " ")
            guard words.count > 2, words[0].utf8.count == 1 else { return nil }
            direction = symbol == UInt8(ascii: "<") ? .sent : symbol == UInt8(ascii: ">") ? .received : nil
            let label = words[1]
            if direction == nil {
                guard Self.notes.contains(label) || isFirst && label.hasSuffix(":") else { return nil }
                kind = .other
            } else if label.hasSuffix("ACL:") || label == "ACL" && words[2] == "Data" {
                let handle = words.prefix(6).firstIndex(of: "Handle").flatMap { words.dropFirst($0 + 1).first }
                kind = .acl(handle: handle.flatMap { UInt16($0) })
            } else if label == "HCI", words[2] == "Event:" {
                kind = .event(words.dropFirst(3).prefix { !$0.hasPrefix("(") }.joined(separator: " "))
            } else {
                guard Self.labels.contains(label) else { return nil }
                kind = .other
            }
            for word in words where word.hasPrefix("[hci") && word.hasSuffix("]") {
                adapter = UInt32(word.dropFirst(4).dropLast()) ?? 0
            }
            // The time at the end of the line: `0.066839`, `00:30:11.049311`, `2026-11-21 05:02:15.061566`.
            guard let last = words.last else { return }
            switch last.contains(".") || last.contains(":") ? TextTime(String(last)) : nil {
            case .timeOfDay(let clock):
                if case .absolute(let date)? = words.dropLast().last.flatMap({ TextTime(String($0)) }) {
                    (time, hasDate) = (date + clock, true)
                } else {
                    time = clock
                }
            case .relative(let seconds) where seconds >= .zero: time = seconds
            default: break
            }
        }
    }

    static func detect(_ head: RawSpan, isLast: Bool) -> Detection {
        var isFirst = true
        return detectLines(head, isLast: isLast, maximumLines: 40) { line, _ in
            defer { isFirst = false }
            let text = withoutColours(line)
            if text.utf8.count < 200, text.contains("Bluetooth monitor ver ") { return true }
            if let first = Head(text) {
                if first.time == nil { return nil }
                if case .other = first.kind { return nil }
                return true
            }
            // Hex text and nRF Connect logs can have a line that looks like btmon's.
            let others =
                isFirst
                ? [HexTextParser.detect(head, isLast: isLast), NRFConnectParser.detect(head, isLast: isLast)] : []
            return others.contains(.match) ? false : nil
        }
    }

    /// A line without its colour escapes (`ESC [ 0;36 m`); empty if it is longer than any line of btmon.
    private static func withoutColours(_ line: Text) -> Substring {
        guard line.count <= 8192 else { return "" }
        let text = Substring(line.string)
        guard text.utf8.contains(0x1B) else { return text }
        var kept = "", rest = text.unicodeScalars
        while let scalar = rest.popFirst() {
            guard scalar.value == 0x1B, rest.first == "[" else {
                kept.unicodeScalars.append(scalar)
                continue
            }
            rest = rest.dropFirst().drop { !(0x40...0x7E).contains($0.value) }.dropFirst()
        }
        return kept[...]
    }

    /// The text of a field line, which follows at least six spaces. Other text can precede the spaces.
    private static func field(_ line: Substring) -> (text: Substring, isIndented: Bool) {
        var blanks = 0, start: Substring.Index?
        for at in line.indices {
            if line[at] == " " || line[at] == "\t" {
                blanks += line[at] == " " ? 1 : 6
                continue
            }
            if blanks >= 6 { start = at }
            if start != nil { break }
            blanks = 0
        }
        let text = start.map { line[$0...] } ?? line.drop { $0 == " " }
        let end = text.lastIndex { $0 != " " && $0 != "\t" }
        return (end.map { text[...$0] } ?? "", start != nil)
    }

    mutating func parse(_ line: TextLine, info: inout CaptureFileInfo, _ body: PacketSink) throws {
        endsWithLineBreak = line.isComplete
        let plain = Self.withoutColours(line.text), field = Self.field(plain)
        if let first = Head(plain) {
            try deliver(info: &info, body)
            (head, start, fields) = (first, line.offset, MonitorFields())
            if case .event(let name) = first.kind { fields.event = name }
        } else if !field.text.isEmpty, head == nil || !fields.parse(field.text) {
            let isPart = head != nil && field.isIndented && !plain.contains(" [hci")
            if !isPart, !plain.contains("Bluetooth monitor ver ") { info.countSkippedLine(line: line.number, plain) }
        }
    }

    mutating func finish(end: Int, info: inout CaptureFileInfo, _ body: PacketSink) throws {
        if !endsWithLineBreak, case .acl? = head?.kind, fields.opcode != nil, fields.pdu == nil {
            throw CaptureError(
                .truncated, at: start,
                "the file ends at byte \(end), in the middle of a packet; everything before it was read")
        }
        try deliver(info: &info, body)
        if skippedPDUs > 0 {
            info.addRemark("the text does not have all bytes of \(skippedPDUs) ATT PDUs: they were skipped")
        }
    }

    private mutating func deliver(info: inout CaptureFileInfo, _ body: PacketSink) throws {
        guard let head else { return }
        self.head = nil
        if head.time != nil, !head.hasDate {
            info.addRemark("the text has no date: its times are shown as of 1970-01-01")
        }
        guard head.direction != nil else { return }
        info.packets += 1
        var packet = CapturePacket(
            number: info.packets, time: head.time, adapter: head.adapter, direction: head.direction, content: .unknown)
        var bytes: [UInt8] = [], handle: UInt16?
        switch head.kind {
        case .acl(let stated) where fields.opcode != nil:
            guard let pdu = fields.pdu else {
                skippedPDUs += 1
                break
            }
            handle = stated ?? lastHandle[head.adapter] ?? 0x40
            let flags = (handle ?? 0) & 0xFFF | (head.direction == .received ? 0x2000 : 0)
            bytes = [flags, UInt16(pdu.count + 4), UInt16(pdu.count), 4].flatMap(MonitorFields.littleEndianBytes) + pdu
            packet.content = .hci(.acl)
        case .event:
            guard let event = fields.eventBytes else { break }
            bytes = event
            packet.content = .hci(.event)
            if event[0] == 0x3E, event[2] == 1 { handle = event.uint16(at: 4) }
        default: break
        }
        if let handle, lastHandle.count < 64 || lastHandle[head.adapter] != nil { lastHandle[head.adapter] = handle }
        try body(packet, bytes.span.bytes)
    }
}

/// Collects the fields that btmon prints for one packet, and builds the packet's bytes from them.
///
/// btmon prints only values as bytes, and the rest of an ATT PDU field by field. The printed PDU length shows whether
/// the bytes are complete.
private struct MonitorFields {
    /// The name of an event: `LE Connection Complete`.
    var event = ""
    private(set) var opcode: UInt8?
    private var length = 0
    /// Handles, ranges, UUIDs, offsets and values, in the order of the PDU.
    private var parts: [UInt8] = []
    private var handle: UInt16?
    /// The number in each field, by the field's name: the one in brackets, such as an error code, else the whole text.
    private var numbers: [String: UInt64] = [:]
    private var address: BluetoothAddress?
    private var name: String?
    private var count = 0

    /// Parses a line without the spaces around it.
    /// - Returns: whether the line was understood.
    mutating func parse(_ line: Substring) -> Bool {
        guard count < 600 else { return false }
        if line.hasPrefix("ATT: ") {
            guard let opcode = Self.bracketedNumber(line).flatMap({ UInt8(exactly: $0) }),
                let length = line.split(separator: " ").last.flatMap({ Int($0) })
            else { return false }
            self = MonitorFields(event: event)
            (self.opcode, self.length) = (opcode, length)
        } else if event == "LE Meta Event", line.hasPrefix("LE "), let end = line.firstRange(of: " (0x") {
            event = String(line[..<end.lowerBound])
        } else {
            guard parseField(line) else { return false }
            count += 1
        }
        return true
    }

    private mutating func parseField(_ line: Substring) -> Bool {
        guard let colon = line.firstRange(of: ": ") else {
            // In an error response, the opcode of the rejected request is alone on its line.
            return store(Self.bracketedNumber(line), "")
        }
        let rest = line[colon.upperBound...], word = rest.prefix { $0 != " " }
        // Newer btmon versions print the number of bytes: Data[5].
        let name = line[..<colon.lowerBound].prefix { $0 != "[" }
        switch name {
        case "Handle range":
            let range = rest.split(separator: "-").compactMap(Self.hex)
            guard range.count == 2 else { return false }
            parts += range.flatMap { Self.littleEndianBytes(UInt16(truncatingIfNeeded: $0)) }
        case "Handle":
            guard let number = Self.hex(word) ?? UInt64(word) else { return false }
            let found = UInt16(truncatingIfNeeded: number)
            handle = handle ?? found
            parts += Self.littleEndianBytes(found)
        case "Offset":
            guard let number = Self.hex(word) ?? UInt64(word) else { return false }
            parts += Self.littleEndianBytes(UInt16(truncatingIfNeeded: number))
        case "UUID", "Attribute type", "Attribute group type":
            guard let uuid = Self.uuid(rest) else { return false }
            parts += uuid
        case "Value", "Data":
            guard let bytes = Self.bytes(rest) else { return false }
            parts += bytes
        case "Peer address", "Address":
            guard let found = BluetoothAddress(String(rest.prefix(17))) else { return false }
            // Of several advertising reports in one event, the first one with a name counts.
            if self.name == nil { address = found }
        case "Name (complete)", "Name (short)": self.name = self.name ?? String(rest)
        default:
            return store(Self.bracketedNumber(line) ?? Self.hex(rest) ?? UInt64(rest), String(name))
        }
        return true
    }

    private mutating func store(_ number: UInt64?, _ name: String) -> Bool {
        guard let number else { return false }
        if numbers[name] == nil { numbers[name] = number }
        return true
    }

    /// The PDU; `nil` if the text does not have all of its bytes.
    var pdu: [UInt8]? {
        guard let opcode, let body = body(opcode), body.count == length else { return nil }
        return [opcode] + body
    }

    private func body(_ opcode: UInt8) -> [UInt8]? {
        switch opcode {
        case 0x01:
            guard let request = code(""), let error = code("Error") else { return nil }
            return [request] + parts.prefix(2) + [error]
        case 0x02, 0x03:
            return (numbers["Client RX MTU"] ?? numbers["Server RX MTU"]).map {
                Self.littleEndianBytes(UInt16(truncatingIfNeeded: $0))
            }
        case 0x05: return code("Format").map { [$0] + parts }
        case 0x09, 0x11: return numbers["Attribute data length"].map { [UInt8(truncatingIfNeeded: $0)] + parts }
        case 0x18: return code("Flags").map { [$0] }
        // Newer btmon versions print the meaning of a value below it.
        default: return Array(parts.prefix(length))
        }
    }

    /// The bytes of the event, if it starts or ends a connection or contains an advertiser's name.
    var eventBytes: [UInt8]? {
        switch event {
        case "LE Connection Complete", "LE Enhanced Connection Complete":
            guard let handle, let address, let status = code("Status"), let role = code("Role"),
                let kind = code("Peer address type")
            else { return nil }
            return [0x3E, 19, 1, status] + Self.littleEndianBytes(handle) + [role, kind & 1] + address.littleEndian + [
                24, 0, 0, 0, 0xF4, 1, 0,
            ]
        case "Disconnect Complete":
            guard let handle, let status = code("Status") else { return nil }
            return [0x05, 4, status] + Self.littleEndianBytes(handle) + [code("Reason") ?? 0x13]
        case "LE Advertising Report", "LE Extended Advertising Report":
            guard let address, let name = name?.utf8.prefix(29), let kind = code("Address type") else { return nil }
            return [0x3E, UInt8(14 + name.count), 2, 1, 0, kind & 1] + address.littleEndian + [
                UInt8(2 + name.count), UInt8(1 + name.count), 9,
            ] + name + [0]
        default: return nil
        }
    }

    private func code(_ name: String) -> UInt8? { numbers[name].flatMap { UInt8(exactly: $0) } }

    static func littleEndianBytes(_ value: UInt16) -> [UInt8] { [UInt8(truncatingIfNeeded: value), UInt8(value >> 8)] }

    private static func hex(_ text: Substring) -> UInt64? {
        text.hasPrefix("0x") ? UInt64(text.dropFirst(2), radix: 16) : nil
    }

    private static func inBrackets(_ line: Substring) -> Substring? {
        guard let open = line.lastIndex(of: "("), let close = line[open...].firstIndex(of: ")") else { return nil }
        return line[line.index(after: open)..<close]
    }

    private static func bracketedNumber(_ line: Substring) -> UInt64? { inBrackets(line).flatMap(hex) }

    /// The UUID in brackets, in little-endian order: `Generic Access Profile (0x1800)`.
    private static func uuid(_ text: Substring) -> [UInt8]? {
        guard let name = inBrackets(text) else { return nil }
        if let short = hex(name) { return UInt16(exactly: short).map(littleEndianBytes) }
        return name.utf8.count == 36 ? bytes(name.filter { $0 != "-" }[...])?.reversed() : nil
    }

    private static func bytes(_ text: Substring) -> [UInt8]? {
        text.contains(" ") ? nil : Array(text.utf8)[...].hexBytes
    }
}
