/// Hex text, this project's own format: easy to write by hand and to diff. UTF-8, one record a line.
///
///     # waterh-bench hex text
///     name: WaterH-Boost-24oz
///     address: A4:C1:38:01:02:03
///     profile: retail
///     2026-02-02T22:21:20.100Z  connected
///     2026-02-02T22:21:20.400Z  >  FFE9  47 54 00 01 06
///     2026-02-02T22:21:20.450Z  <  FFE4  50 54 00 0F 0E 06 1A 02 02 16 15 0F 00 10 00 00 01 61 00   # one drink
///     2026-02-02T22:21:21.000Z  disconnected
///
///     line           = [ head | event | value ] [ "#" comment ]          blanks or tabs between the words
///     head           = ("name" | "address" | "profile" | "start" | "date") ":" text
///     event          = [time] ("connected" | "disconnected") [address]
///     value          = [time] direction characteristic bytes
///     time           = seconds after "start" | ISO 8601 (no zone: UTC) | HH:MM:SS on "date" | "-" for none
///     direction      = ">" write without response | ">>" write with response
///                    | "<" notification | "<<" indication | "=" the answer to a read
///                      (or the words write, request, notify, indicate, read, sent, received)
///     characteristic = FF02 | 0xFF02 | the full UUID | handle:0025
///     bytes          = pairs of hex digits, with blanks, "-", ":" or nothing between them
///
/// `address:` further down says whose the following lines are. Times of day that go back begin a new day.
struct HexTextParser: FormatParser {
    private var line = 0
    private var start = Duration.zero
    private var date = Duration.zero
    private var lastTimeOfDay: Duration?
    private var peer: UInt64?
    private var value: [UInt8] = []

    static func sniff(_ head: RawSpan, isLast: Bool) -> Sniff {
        var at = TextHead.start(head)
        if head.has("# waterh", at: at) { return .mine }
        while let (line, next, _) = TextLine.next(head, from: at, isLast: isLast) {
            if TextHead.isBinary(head, at..<next) { return .notMine }
            var rest = line
            if rest.word(head) != nil {
                if looksRight(head, line) { return .mine }
                return .notMine
            }
            at = next
        }
        return isLast || TextHead.isBinary(head, at..<head.byteCount) ? .notMine : .undecided
    }

    /// The line is a head line, or has a direction or event where one belongs: what else is wrong in it is said when it
    /// is read.
    private static func looksRight(_ bytes: RawSpan, _ line: TextLine) -> Bool {
        var line = line
        guard let first = line.word(bytes) else { return false }
        if HeadKey(bytes, first) != nil { return true }
        if Verb(bytes, first) != nil { return true }
        guard TextTime(bytes, first) != nil, let second = line.word(bytes) else { return false }
        return Verb(bytes, second) != nil
    }

    mutating func read(
        _ window: RawSpan, isLast: Bool, facts: inout CaptureFileFacts, _ body: (CapturePacket, RawSpan) throws -> Void
    ) throws -> Int {
        var at = 0
        if facts.format == nil {
            facts.format = CaptureFormat(.hexText, .text)
            facts.linkTypes = [.text]
            at = TextHead.start(window)
        }
        while let (line, next, isComplete) = TextLine.next(window, from: at, isLast: isLast) {
            self.line += 1
            do throws(LineError) {
                if let packet = try read(line, window, facts: &facts) {
                    try deliver(packet, facts: &facts, body)
                }
            } catch {
                switch error {
                case .thrown(let other): throw other
                case .malformed(let what) where isComplete:
                    throw CaptureError(
                        .broken, at: facts.offset + at, "line \(self.line): \(what); everything before it was read")
                case .malformed:
                    throw CaptureError(
                        .cut, at: facts.offset + at,
                        """
                        the file ends at byte \(facts.offset + window.byteCount), in the middle of line \
                        \(self.line); everything before it was read
                        """
                    )
                }
            }
            at = next
        }
        if !isLast, window.byteCount - at > longestPacket {
            throw CaptureError(
                .broken, at: facts.offset + at,
                """
                line \(line + 1) is longer than any value can be: the file is damaged here; everything before it \
                was read
                """
            )
        }
        return at
    }

    private enum LineError: Error {
        case malformed(String)
        case thrown(any Error)
    }

    private func deliver(
        _ packet: CapturePacket, facts: inout CaptureFileFacts, _ body: (CapturePacket, RawSpan) throws -> Void
    ) throws(LineError) {
        facts.packets += 1
        var packet = packet
        packet.number = facts.packets
        do {
            try body(packet, value.span.bytes)
        } catch {
            throw .thrown(error)
        }
    }

    /// One line: `nil` where it is no record. The value's bytes are left in `value`.
    private mutating func read(_ line: TextLine, _ bytes: RawSpan, facts: inout CaptureFileFacts) throws(LineError)
        -> CapturePacket?
    {
        var line = line
        guard let first = line.word(bytes) else { return nil }
        if let key = HeadKey(bytes, first) {
            try readHead(key, first, &line, bytes, facts: &facts)
            return nil
        }
        var verb = Verb(bytes, first)
        var time: CaptureTime?
        if verb == nil {
            guard let written = TextTime(bytes, first) else {
                throw .malformed(
                    """
                    '\(bytes.quotation(first))' is neither a time (12.5, 2026-02-02T22:21:15Z, 22:21:15, -) nor a \
                    direction nor a head word
                    """
                )
            }
            guard let second = line.word(bytes) else {
                throw .malformed("after the time a direction is missing (> < >> << =)")
            }
            guard let found = Verb(bytes, second) else {
                throw .malformed(
                    """
                    '\(bytes.quotation(second))' is no direction: use > (write), >> (write with response), < \
                    (notification), << (indication), = (read), connected or disconnected
                    """
                )
            }
            verb = found
            time = resolve(written)
        }
        switch verb {
        case .event(let isBegin):
            if let word = line.word(bytes) {
                guard let address = bytes.address(word) else {
                    throw .malformed("'\(bytes.quotation(word))' is no address such as A4:C1:38:01:02:03")
                }
                noteAddress(address, facts: &facts)
            }
            value.removeAll(keepingCapacity: true)
            return CapturePacket(
                number: 0, time: time, direction: nil,
                content: .connection(ConnectionFacts(isBegin: isBegin, peer: peer)))
        case .travel(let travel):
            guard let word = line.word(bytes), let characteristic = bytes.characteristic(word) else {
                throw .malformed("after the direction a characteristic is missing (FFE4, a full UUID, or handle:0025)")
            }
            var rest = line.rest(bytes)
            if let comment = rest.first(where: { bytes.u8($0) == UInt8(ascii: "#") }) {
                rest = rest.lowerBound..<comment
            }
            guard bytes.hexBytes(rest, into: &value) else { throw .malformed("the bytes are not pairs of hex digits") }
            return CapturePacket(
                number: 0, time: time, direction: travel.direction,
                content: .value(ValueFacts(travel: travel, characteristic: characteristic, peer: peer)))
        case nil:
            return nil
        }
    }

    private mutating func readHead(
        _ key: HeadKey, _ word: Range<Int>, _ line: inout TextLine, _ bytes: RawSpan, facts: inout CaptureFileFacts
    ) throws(LineError) {
        // `name:WaterH` without a blank is one word: go on behind its colon.
        let colon = word.first { bytes.u8($0) == UInt8(ascii: ":") } ?? word.upperBound - 1
        line.at = colon + 1
        var text = line.rest(bytes)
        if key != .name, let comment = text.first(where: { bytes.u8($0) == UInt8(ascii: "#") }) {
            text = text.lowerBound..<comment
            while let last = text.last, bytes.u8(last) == 0x20 || bytes.u8(last) == 0x09 { text.removeLast() }
        }
        switch key {
        case .name:
            let name = bytes.text(text.prefix(255))
            if facts.name == nil { facts.name = name }
            if let peer, facts.names.count < CaptureFileFacts.mostNames { facts.names[peer] = name }
        case .profile:
            facts.profile = bytes.text(text.prefix(64))
        case .address:
            guard let address = bytes.address(text) else {
                throw .malformed("'\(bytes.quotation(text))' is no address such as A4:C1:38:01:02:03")
            }
            noteAddress(address, facts: &facts)
        case .start:
            switch TextTime(bytes, text) {
            case .absolute(let time), .relative(let time): start = time
            default: throw .malformed("'\(bytes.quotation(text))' is no start such as 2026-02-02T22:21:15Z")
            }
        case .date:
            guard let day = TextTime.date(bytes, text) else {
                throw .malformed("'\(bytes.quotation(text))' is no date such as 2026-02-02")
            }
            date = day
            lastTimeOfDay = nil
        }
    }

    private mutating func noteAddress(_ address: UInt64, facts: inout CaptureFileFacts) {
        peer = address
        if facts.address == nil {
            facts.address = address
            if let name = facts.name { facts.names[address] = name }
        }
    }

    private mutating func resolve(_ written: TextTime) -> CaptureTime? {
        switch written {
        case .none: return nil
        case .absolute(let time): return CaptureTime(sinceEpoch: time)
        case .relative(let time): return CaptureTime(sinceEpoch: start + time)
        case .timeOfDay(let time):
            // Back by more than half a day: midnight has passed. Less is only disorder.
            if let lastTimeOfDay, lastTimeOfDay - time > .seconds(43_200) { date += .seconds(86_400) }
            lastTimeOfDay = time
            return CaptureTime(sinceEpoch: date + time)
        }
    }

    private enum HeadKey {
        case name, address, profile, start, date

        init?(_ bytes: RawSpan, _ word: Range<Int>) {
            guard let colon = word.first(where: { bytes.u8($0) == UInt8(ascii: ":") }) else { return nil }
            let key = word.lowerBound..<colon
            if bytes.equals(key, "name") {
                self = .name
            } else if bytes.equals(key, "address") {
                self = .address
            } else if bytes.equals(key, "profile") {
                self = .profile
            } else if bytes.equals(key, "start") {
                self = .start
            } else if bytes.equals(key, "date") {
                self = .date
            } else {
                return nil
            }
        }
    }

    private enum Verb {
        case travel(ValueFacts.Travel)
        case event(isBegin: Bool)

        private static let words: [(StaticString, Verb)] = [
            (">", .travel(.writeCommand)), ("<", .travel(.notification)), (">>", .travel(.writeRequest)),
            ("<<", .travel(.indication)),
            ("=", .travel(.read)), ("write", .travel(.writeCommand)), ("sent", .travel(.writeCommand)),
            ("request", .travel(.writeRequest)),
            ("notify", .travel(.notification)), ("notification", .travel(.notification)),
            ("received", .travel(.notification)),
            ("indicate", .travel(.indication)), ("indication", .travel(.indication)), ("read", .travel(.read)),
            ("connected", .event(isBegin: true)), ("disconnected", .event(isBegin: false)),
        ]

        init?(_ bytes: RawSpan, _ word: Range<Int>) {
            guard let found = Self.words.first(where: { bytes.equals(word, $0.0) }) else { return nil }
            self = found.1
        }
    }
}

/// The beginning of a text file.
enum TextHead {
    /// Behind a byte order mark, where an editor left one.
    static func start(_ bytes: RawSpan) -> Int {
        bytes.byteCount >= 3 && bytes.u8(0) == 0xEF && bytes.u8(1) == 0xBB && bytes.u8(2) == 0xBF ? 3 : 0
    }

    /// No text has a zero byte. Only the lines that decide are looked at, so that a pipe gives the same as a file.
    static func isBinary(_ bytes: RawSpan, _ range: Range<Int>) -> Bool {
        range.contains { bytes.u8($0) == 0 }
    }
}
