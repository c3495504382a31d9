/// Packets as bytes in a text: what `tshark -x` prints of an HCI capture, and `hcidump -R` (with `-t` also their
/// times).
///
///     0000  04 3e 13 01 00 41 00 00 00 d2 d1 31 38 c1 a4 18   .>...A.....18...
///     0010  00 00 00 f4 01 00                                 ......
///
///     2026-02-02 22:21:20.100000 > 04 3E 13 01 00 41 00 00 00 D2 D1 31 38 C1 A4 18 00 00 00 F4
///       01 00
///
/// Each packet begins with its H4 type. tshark's dump keeps neither time nor direction, hcidump's says the direction:
/// `<` sent, `>` received. What tshark puts together of several packets is dumped behind the last of them, under a line
/// `Reassembled … (262 bytes):`, and is no packet. With `-V` the packet's time and direction stand before its bytes.
/// Other lines are passed over. Source: tshark 4.0, and `parser/parser.c` of BlueZ 5's hcidump.
struct HexDumpParser: FormatParser {
    private var packet: [UInt8] = []
    private var direction: PacketDirection?
    private var time: CaptureTime?
    /// Where the packet's first line begins in the file.
    private var start = 0
    private var pairs: [UInt8] = []
    /// What comes is put together of packets that were there already.
    private var isAside = false
    /// What `tshark -V` tells of the packet whose bytes follow.
    private var told: (direction: PacketDirection?, time: CaptureTime?) = (nil, nil)

    /// A line of a dump.
    private enum Line {
        /// Of a packet's bytes from an offset on.
        case offset(Int, Range<Int>)
        case first(PacketDirection, CaptureTime?, Range<Int>)
        case further(Range<Int>)
        /// `Frame (67 bytes):`, or another source of bytes.
        case source(isPacket: Bool)
        /// `Frame 7: 16 bytes on wire`, and what is told below.
        case details
        case told(PacketDirection)
        case epoch(CaptureTime)
        case other

        init(_ line: TextLine, _ bytes: RawSpan) {
            self = .other
            let begin = line.at
            var line = line
            guard let word = line.word(bytes) else { return }
            if let detail = Self.detail(
                TextLine(at: word.lowerBound, end: line.end), indent: word.lowerBound - begin, bytes)
            {
                self = detail
            } else if word.lowerBound == begin, (4...8).contains(word.count), bytes.has("  ", at: word.upperBound),
                let offset = Self.offset(bytes, word)
            {
                guard Self.isPair(bytes, word.upperBound + 2, line.end) else { return }
                self = .offset(offset, word.upperBound + 2..<line.end)
            } else if let direction = Self.direction(bytes, word) {
                self.begin(direction, nil, line, bytes)
            } else if let date = TextTime.date(bytes, word), let clock = line.word(bytes),
                let time = TextTime.clock(bytes, clock), let arrow = line.word(bytes),
                let direction = Self.direction(bytes, arrow)
            {
                self.begin(direction, CaptureTime(sinceEpoch: date + time), line, bytes)
            } else if word.lowerBound == begin + 2, word.count == 2, Self.isPair(bytes, word.lowerBound, line.end) {
                self = .further(word.lowerBound..<line.end)
            }
        }

        /// A line of tshark's own about the bytes.
        private static func detail(_ line: TextLine, indent: Int, _ bytes: RawSpan) -> Line? {
            var line = line
            switch indent {
            case 0:
                let isFrame = line.take("Frame ", bytes)
                if line.end - line.at > 8, bytes.has(" bytes):", at: line.end - 8) { return .source(isPacket: isFrame) }
                return isFrame ? .details : nil
            case 4:
                if line.take("Epoch Time: ", bytes) {
                    return line.word(bytes).flatMap { TextTime.seconds(bytes, $0) }.map {
                        .epoch(CaptureTime(sinceEpoch: $0))
                    }
                }
                guard line.take("Point-to-Point Direction: ", bytes) else { return nil }
                return line.take("Sent", bytes) ? .told(.sent) : line.take("Received", bytes) ? .told(.received) : nil
            default: return nil
            }
        }

        private mutating func begin(
            _ direction: PacketDirection, _ time: CaptureTime?, _ line: TextLine, _ bytes: RawSpan
        ) {
            guard bytes.has(" ", at: line.at), Self.isPair(bytes, line.at + 1, line.end),
                HexDumpParser.isType(bytes.nibble(line.at + 1), bytes.nibble(line.at + 2))
            else { return }
            self = .first(direction, time, line.at + 1..<line.end)
        }

        private static func direction(_ bytes: RawSpan, _ word: Range<Int>) -> PacketDirection? {
            guard word.count == 1 else { return nil }
            return bytes.u8(word.lowerBound) == UInt8(ascii: "<")
                ? .sent : bytes.u8(word.lowerBound) == UInt8(ascii: ">") ? .received : nil
        }

        private static func offset(_ bytes: RawSpan, _ word: Range<Int>) -> Int? {
            var value = 0
            for index in word {
                guard let nibble = bytes.nibble(index) else { return nil }
                value = value << 4 | Int(nibble)
            }
            return value
        }

        /// Two hex digits, and then a blank or nothing.
        static func isPair(_ bytes: RawSpan, _ at: Int, _ end: Int) -> Bool {
            at + 2 <= end && bytes.nibble(at) != nil && bytes.nibble(at + 1) != nil
                && (at + 2 == end || bytes.u8(at + 2) == 0x20)
        }
    }

    private static func isType(_ high: UInt8?, _ low: UInt8?) -> Bool {
        high == 0 && low.map { (1...5).contains($0) } ?? false
    }

    /// The first lines may say who printed it.
    private static let mostLinesBefore = 4
    /// Of a packet that tshark tells of line by line, until it says of what kind it is.
    private static let mostDetailsBefore = 16

    static func sniff(_ head: RawSpan, isLast: Bool) -> Sniff {
        var at = TextHead.start(head), before = 0, most = mostLinesBefore
        while let (line, next, isComplete) = TextLine.next(head, from: at, isLast: isLast) {
            if TextHead.isBinary(head, at..<next) { return .notMine }
            switch Line(line, head) {
            case .first where isComplete || isLast: return .mine
            case .offset(0, let range)
            where Self.isType(head.nibble(range.lowerBound), head.nibble(range.lowerBound + 1)): return .mine
            case .details: most = mostDetailsBefore
            default: break
            }
            var rest = line
            rest.skipBlanks(head)
            if most == mostDetailsBefore, rest.take("Encapsulation type: ", head) {
                return rest.take("Bluetooth H4", head) ? .mine : .notMine
            }
            if !rest.rest(head).isEmpty { before += 1 }
            if before == most { return .notMine }
            at = next
        }
        return isLast || TextHead.isBinary(head, at..<head.byteCount) ? .notMine : .undecided
    }

    mutating func read(
        _ window: RawSpan, isLast: Bool, facts: inout CaptureFileFacts, _ body: (CapturePacket, RawSpan) throws -> Void
    ) throws -> Int {
        var at = 0
        if facts.format == nil {
            facts.format = CaptureFormat(.hexDump, .h4)
            facts.linkTypes = [.h4]
            at = TextHead.start(window)
        }
        while let (line, next, isComplete) = TextLine.next(window, from: at, isLast: isLast) {
            let place = facts.offset + at
            switch Line(line, window) {
            case .offset where isAside: break
            case .offset(let offset, let range):
                if offset == 0 {
                    try begin(told.direction, told.time, place, facts: &facts, body)
                    told = (nil, nil)
                }
                guard offset == packet.count else {
                    throw CaptureError(
                        .broken, at: place,
                        """
                        this line says that it is byte \(offset) of its packet, of which \(packet.count) came: \
                        lines are missing here; everything before it was read
                        """
                    )
                }
                take(range, window)
            case .first(let direction, let time, let range):
                try begin(direction, time, place, facts: &facts, body)
                take(range, window)
            case .further(let range):
                if direction != nil, !packet.isEmpty { take(range, window) }
            case .source(let isPacket):
                try finish(facts: &facts, body)
                isAside = !isPacket
            case .details:
                try finish(facts: &facts, body)
                (isAside, told) = (false, (nil, nil))
            case .told(let direction): told.direction = direction
            case .epoch(let time): told.time = time
            case .other:
                isAside = false
                // Half a line says nothing: it may be the packet's next.
                if isComplete { try finish(facts: &facts, body) }
            }
            guard packet.count <= longestPacket else {
                throw CaptureError.tooLong(record: facts.packets + 1, start: start, length: UInt64(packet.count))
            }
            at = next
        }
        if !isLast, window.byteCount - at > longestPacket {
            throw CaptureError(
                .broken, at: facts.offset + at,
                "a line is longer than any packet can be: the file is damaged here; everything before it was read")
        }
        if isLast {
            let needed = Self.length(packet)
            // What is cut inside its bytes is no packet.
            if packet.count < needed, !packet.isEmpty {
                throw CaptureError.cut(
                    record: facts.packets + 1, start: start, end: facts.offset + window.byteCount, needed: needed)
            }
            try finish(facts: &facts, body)
        }
        return at
    }

    private mutating func begin(
        _ direction: PacketDirection?, _ time: CaptureTime?, _ place: Int, facts: inout CaptureFileFacts,
        _ body: (CapturePacket, RawSpan) throws -> Void
    ) throws {
        try finish(facts: &facts, body)
        (self.direction, self.time, start) = (direction, time, place)
    }

    private mutating func take(_ range: Range<Int>, _ bytes: RawSpan) {
        var at = range.lowerBound
        while Line.isPair(bytes, at, range.upperBound), let high = bytes.nibble(at), let low = bytes.nibble(at + 1) {
            packet.append(high << 4 | low)
            at += 3
        }
    }

    private mutating func finish(facts: inout CaptureFileFacts, _ body: (CapturePacket, RawSpan) throws -> Void) throws
    {
        guard !packet.isEmpty else { return }
        facts.packets += 1
        let record = CapturePacket(
            number: facts.packets, time: time, direction: direction,
            missing: max(0, Self.length(packet) - packet.count), content: .unknown)
        let bytes = packet
        packet.removeAll(keepingCapacity: true)
        (direction, time) = (nil, nil)
        try record.deliverH4(bytes.span.bytes, facts: &facts, body)
    }

    /// Bytes that an H4 packet has, by its own header.
    private static func length(_ packet: [UInt8]) -> Int {
        func number(_ at: Int) -> Int { Int(packet[at]) | Int(packet[at + 1]) << 8 }
        guard let type = packet.first else { return 0 }
        switch HCIPacketType(rawValue: type) {
        case .command, .sco: return packet.count < 4 ? 4 : 4 + Int(packet[3])
        case .acl: return packet.count < 5 ? 5 : 5 + number(3)
        case .event: return packet.count < 3 ? 3 : 3 + Int(packet[2])
        case .iso: return packet.count < 5 ? 5 : 5 + (number(3) & 0x3FFF)
        default: return packet.count
        }
    }
}
