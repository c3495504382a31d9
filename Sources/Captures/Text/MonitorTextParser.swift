/// What btmon prints: packets as text, each with a line of its own and what it says below it, further in.
///
///     Bluetooth monitor ver 5.66
///     > ACL Data RX: Handle 65 flags 0x02 dlen 14                 #33 [hci0] 0.066839
///           ATT: Handle Value Notification (0x1b) len 9
///             Handle: 0x0013
///               Data: 52500003020601
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

        init?(_ range: Range<Int>, _ bytes: RawSpan) {
            guard range.count > 3, range.count <= MonitorTextParser.longestLine else { return nil }
            var line = Substring(bytes.text(range))
            // Newer versions say which program sent it: `bluetoothd[54321]: < ACL Data TX`.
            if line.first.map({ !"<>=@".contains($0) }) ?? true {
                guard let close = line.firstIndex(of: "]"), line.prefix(upTo: close).allSatisfy({ $0 != " " }),
                    line[close...].hasPrefix("]: ")
                else { return nil }
                line = line[close...].dropFirst(3)
            }
            let words = line.split(separator: " ")
            guard words.count > 2 else { return nil }
            switch words[0] {
            case "<": direction = .sent
            case ">": direction = .received
            case "=", "@": direction = nil
            default: return nil
            }
            switch (words[1], words[2]) {
            case ("ACL", "Data"): kind = .acl(handle: words.count > 5 && words[4] == "Handle" ? UInt16(words[5]) : nil)
            case ("HCI", "Event:"):
                kind = .event(words.dropFirst(3).prefix { !$0.hasPrefix("(") }.joined(separator: " "))
            case ("HCI", _), ("SCO", _), ("ISO", _), ("LE", "ISO"): kind = .other
            default:
                guard direction == nil else { return nil }
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
            if head.has("Bluetooth monitor ver ", at: line.at), line.end - line.at < 40 { return .mine }
            let first = Head(line.at..<line.end, head)
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
            var inner = line
            let rest = inner.rest(window)
            if let first = Head(line.at..<line.end, window) {
                try finish(facts: &facts, body)
                (head, start) = (first, facts.offset + at)
                if case .event(let name) = first.kind { text = MonitorText(event: name) } else { text = MonitorText() }
            } else if head != nil, !rest.isEmpty, rest.count <= Self.longestLine {
                text.take(Substring(window.text(rest)))
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
