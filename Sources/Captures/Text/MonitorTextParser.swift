/// Reads the text that btmon 5.50 to 5.87 prints: packets, each with a line of its own and its fields below it, further
/// in. Colours are passed over, and so is what stands before a line (journald, `ts`, an indentation).
///
///     Bluetooth monitor ver 5.66
///     > ACL Data RX: Handle 65 flags 0x02 dlen 14                 #33 [hci0] 0.066839
///           ATT: Handle Value Notification (0x1b) len 9
///             Handle: 0x0013
///               Data: 52500003020601
///     < LE-ACL: Handle 65 [A4:C1:38:31:D1:D2 (Public)] flags 0x00 dlen 7   #2 [hci0] 0.000839
///
/// Of a narrow terminal the connection's handle is missing: then it is the one that was told last. Times count from the
/// recorder's start, or (`-t`) from midnight, or (`-T`) have a date. Read are connections, ATT, and names that are
/// advertised; everything else counts as a packet without bytes.
struct MonitorTextParser: FormatParser {
    private var text = MonitorText()
    private var head: Head?
    private var start = 0
    private var lastHandle: [UInt32: UInt16] = [:]
    private var passedOver = 0
    private var lineNumber = 0
    /// A line that is longer holds no value of ATT's.
    private static let longestLine = 8192

    /// A packet's first line.
    private struct Head {
        enum Kind { case acl(handle: UInt16?), event(String), other }

        var direction: PacketDirection?
        var kind: Kind
        var adapter: UInt32 = 0
        var time: CaptureTime?
        var hasDate = false

        /// The notes that btmon writes beside packets begin with one of these words.
        private static let notes: Set<Substring> = [
            "New", "Delete", "Open", "Close", "Index", "Vendor", "Note:", "System", "MGMT", "RAW", "USER", "Unknown",
        ]
        private static let labels: Set<Substring> = [
            "HCI", "SCO", "ISO", "LE", "BR-SCO:", "BR-ESCO:", "LE-CIS:", "LE-BIS:", "User", "ACL:", "LE-ACL:",
            "BR-ACL:",
            "ACL",
        ]

        /// - Parameter line: without colours. A packet's mark may stand behind something else: a time, or the program
        ///   that sent it (`bluetoothd[54321]: < ACL Data TX`).
        init?(_ line: Substring) {
            var isBehindBlank = true
            for at in line.utf8.indices.prefix(200) {
                let byte = line.utf8[at]
                if isBehindBlank, "<>=@".utf8.contains(byte),
                    let head = Head(mark: byte, line[at...], isFirst: at == line.startIndex)
                {
                    self = head
                    return
                }
                isBehindBlank = byte == 0x20 || byte == 0x09
            }
            return nil
        }

        private init?(mark: UInt8, _ text: Substring, isFirst: Bool) {
            let words = text.split(separator: " ")
            guard words.count > 2, words[0].utf8.count == 1 else { return nil }
            direction = mark == UInt8(ascii: "<") ? .sent : mark == UInt8(ascii: ">") ? .received : nil
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
            read(words)
        }

        /// `0.066839`, `00:30:11.049311`, `2026-11-21 05:02:15.061566`, at the line's end.
        private mutating func read(_ words: [Substring]) {
            guard let last = words.last else { return }
            func read<Answer>(_ word: Substring, _ body: (RawSpan, Range<Int>) -> Answer?) -> Answer? {
                let bytes = Array(word.utf8)
                return body(bytes.span.bytes, 0..<bytes.count)
            }
            if let clock = read(last, TextTime.clock) {
                let date = words.count > 1 ? read(words[words.count - 2], TextTime.date) : nil
                (time, hasDate) = (CaptureTime(sinceEpoch: (date ?? .zero) + clock), date != nil)
            } else if last.contains("."), let seconds = read(last, TextTime.seconds), seconds >= .zero {
                time = CaptureTime(sinceEpoch: seconds)
            }
        }
    }

    static func sniff(_ head: RawSpan, isLast: Bool) -> Sniff {
        var at = TextHead.start(head), before = 0
        while let (line, next, _) = TextLine.next(head, from: at, isLast: isLast) {
            if TextHead.isBinary(head, at..<next) { return .notMine }
            if line.end - line.at < 200, plain(line, head).contains("Bluetooth monitor ver ") { return .mine }
            let first = Head(MonitorTextParser.plain(line, head))
            if let first, first.time != nil {
                switch first.kind {
                case .acl, .event: return .mine
                case .other: break
                }
            }
            var rest = line
            if !rest.rest(head).isEmpty {
                // What begins as another kind of text is that: whoever still writes it is not to be waited for.
                if before == 0, first == nil,
                    [HexTextParser.sniff(head, isLast: isLast), NRFConnectParser.sniff(head, isLast: isLast)].contains(
                        .mine)
                {
                    return .notMine
                }
                before += 1
            }
            if before == 40 { return .notMine }
            at = next
        }
        return isLast || TextHead.isBinary(head, at..<head.byteCount) ? .notMine : .undecided
    }

    /// A line without its colours (`ESC [ 0;36 m`); empty where it is longer than any of btmon's.
    private static func plain(_ line: TextLine, _ bytes: RawSpan) -> Substring {
        guard line.end - line.at <= longestLine else { return "" }
        let text = Substring(bytes.text(line.at..<line.end))
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

    /// What stands in a line below a packet's: behind six blanks or more, and whatever is before them.
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

    mutating func read(
        _ window: RawSpan, isLast: Bool, facts: inout CaptureFileFacts, _ body: (CapturePacket, RawSpan) throws -> Void
    ) throws -> Int {
        var at = 0
        if facts.format == nil {
            facts.format = CaptureFormat(.monitorText, .h4)
            facts.linkTypes = [.h4]
            at = TextHead.start(window)
        }
        var isWhole = true
        while let (line, next, isComplete) = TextLine.next(window, from: at, isLast: isLast) {
            isWhole = isComplete
            lineNumber += 1
            let plain = Self.plain(line, window), field = Self.field(plain)
            if let first = Head(plain) {
                try finish(facts: &facts, body)
                (head, start) = (first, facts.offset + at)
                if case .event(let name) = first.kind { text = MonitorText(event: name) } else { text = MonitorText() }
            } else if !field.text.isEmpty {
                let isUsed = head != nil && text.take(field.text)
                if !isUsed,
                    head == nil || !field.isIndented || plain.contains(" [hci"),
                    !plain.contains("Bluetooth monitor ver ")
                {
                    facts.passOver(line: lineNumber, plain)
                }
            }
            at = next
        }
        if !isLast, window.byteCount - at > longestPacket {
            throw CaptureError(
                .broken, at: facts.offset + at,
                "a line is longer than any packet can be: the file is damaged here; everything before it was read")
        }
        if isLast {
            if !isWhole, case .acl? = head?.kind, text.opcode != nil, text.pdu == nil {
                throw CaptureError(
                    .cut, at: start,
                    """
                    the file ends at byte \(facts.offset + window.byteCount), in the middle of a packet; \
                    everything before it was read
                    """
                )
            }
            try finish(facts: &facts, body)
            if passedOver > 0 {
                facts.remarks.append("of \(passedOver) ATT PDUs not all bytes stand in the text: they were passed over")
            }
        }
        return at
    }

    private mutating func finish(facts: inout CaptureFileFacts, _ body: (CapturePacket, RawSpan) throws -> Void) throws
    {
        guard let head else { return }
        self.head = nil
        if head.time != nil, !head.hasDate, !facts.remarks.contains(Self.noDate) { facts.remarks.append(Self.noDate) }
        guard head.direction != nil else { return }
        facts.packets += 1
        var packet = CapturePacket(
            number: facts.packets, time: head.time, adapter: head.adapter, direction: head.direction, content: .unknown)
        var bytes: [UInt8] = []
        switch head.kind {
        case .acl(let told):
            guard text.opcode != nil else { break }
            guard let pdu = text.pdu else {
                passedOver += 1
                break
            }
            let handle = told ?? lastHandle[head.adapter] ?? 0x40
            let flags = handle & 0xFFF | (head.direction == .received ? 0x2000 : 0)
            bytes =
                [flags, UInt16(pdu.count + 4), UInt16(pdu.count), 4].flatMap {
                    [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)]
                } + pdu
            packet.content = .hci(.acl)
            if lastHandle.count < 64 || lastHandle[head.adapter] != nil { lastHandle[head.adapter] = handle }
        case .event:
            guard let event = text.eventBytes else { break }
            bytes = event
            packet.content = .hci(.event)
            if event[0] == 0x3E, event[2] == 1, lastHandle.count < 64 || lastHandle[head.adapter] != nil {
                lastHandle[head.adapter] = UInt16(event[4]) | UInt16(event[5]) << 8
            }
        case .other: break
        }
        try body(packet, bytes.span.bytes)
    }

    private static let noDate = "the text names no date: its times are taken as of 1970-01-01"
}
