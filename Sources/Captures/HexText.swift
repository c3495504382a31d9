import Bluetooth

/// Hex text, this project's own format: easy to write and to diff. UTF-8, one record per line.
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
///     line           = [ head | event | value ] [ "#" comment ]          spaces or tabs between the words
///     head           = ("name" | "address" | "profile" | "start" | "date") ":" text
///     event          = [time] ("connected" | "disconnected") [address]
///     value          = [time] direction characteristic bytes
///     time           = seconds after "start" | ISO 8601 (no zone: UTC) | HH:MM:SS on "date" | "-" for none
///     direction      = ">" write without response | ">>" write with response
///                    | "<" notification | "<<" indication | "=" response to a read
///                      (or the words write, request, notify, indicate, read, sent, received)
///     characteristic = FF02 | 0xFF02 | the full UUID | handle:0025
///     bytes          = pairs of hex digits, with spaces, "-", ":" or nothing between them
///
/// A later `address:` applies to the lines after it. A time of day before the previous one is on the next day.
struct HexTextParser: LineParser {
    static let format = CaptureFormat(.hexText, .text)
    var line = 0
    private var start = Duration.zero
    private var clock = DayClock()
    private var peer: BluetoothAddress?
    private var value: [UInt8] = []

    static func sniff(_ head: RawSpan, isLast: Bool) -> Sniff {
        if head.has("# waterh", at: TextLine.start(head)) { return .mine }
        return sniffLines(head, isLast: isLast) { line, _ in
            var line = line
            guard let first = line.word(head) else { return nil }
            if HeadKey(head, first) != nil || Verb(head, first) != nil { return true }
            guard TextTime(head, first) != nil, let second = line.word(head) else { return false }
            return Verb(head, second) != nil
        }
    }

    mutating func take(
        _ line: TextLine, _ bytes: RawSpan, place: Int, isComplete: Bool, facts: inout CaptureFileFacts,
        _ body: PacketBody
    ) throws {
        var line = line
        guard let first = line.word(bytes) else { return }
        if let key = HeadKey(bytes, first) { return try readHead(key, first, &line, bytes, facts: &facts) }
        var verb = Verb(bytes, first), time: Duration?
        if verb == nil {
            guard let written = TextTime(bytes, first) else {
                throw MalformedLine(
                    what: """
                        '\(bytes.quotation(first))' is neither a time (12.5, 2026-02-02T22:21:15Z, 22:21:15, -) nor \
                        a direction nor a head word
                        """)
            }
            guard let second = line.word(bytes) else {
                throw MalformedLine(what: "after the time a direction is missing (> < >> << =)")
            }
            verb = Verb(bytes, second)
            guard verb != nil else {
                throw MalformedLine(
                    what: """
                        '\(bytes.quotation(second))' is not a direction: use > (write), >> (write with response), \
                        < (notification), << (indication), = (read), connected or disconnected
                        """)
            }
            time = resolve(written)
        }
        let content: PacketContent, direction: TrafficDirection?
        value.removeAll(keepingCapacity: true)
        switch verb {
        case .event(let isBegin):
            if let word = line.word(bytes) { noteAddress(try Self.address(bytes, word), facts: &facts) }
            (content, direction) = (.connection(isBegin: isBegin, peer: peer), nil)
        case .travel(let travel):
            guard let word = line.word(bytes), let (uuid, handle) = bytes.characteristic(word) else {
                throw MalformedLine(
                    what: "after the direction a characteristic is missing (FFE4, a full UUID, or handle:0025)")
            }
            guard bytes.hexBytes(Self.withoutComment(line.rest(bytes), bytes), into: &value) else {
                throw MalformedLine(what: "the bytes are not pairs of hex digits")
            }
            content = .value(ValueFacts(travel: travel, characteristic: uuid, handle: handle, peer: peer))
            direction = travel.direction
        case nil: return
        }
        facts.packets += 1
        try body(
            CapturePacket(number: facts.packets, time: time, direction: direction, content: content), value.span.bytes)
    }

    private mutating func readHead(
        _ key: HeadKey, _ word: Range<Int>, _ line: inout TextLine, _ bytes: RawSpan, facts: inout CaptureFileFacts
    ) throws {
        // `name:WaterH` without a space is one word: continue after its colon.
        line.at = (word.first { bytes.u8($0) == UInt8(ascii: ":") } ?? word.upperBound - 1) + 1
        var text = line.rest(bytes)
        if key != .name { text = Self.withoutComment(text, bytes) }
        switch key {
        case .name:
            let name = bytes.text(text.prefix(255))
            if facts.name == nil { facts.name = name }
            if let peer { facts.learn(name: name, of: peer) }
        case .profile: facts.profile = bytes.text(text.prefix(64))
        case .address: noteAddress(try Self.address(bytes, text), facts: &facts)
        case .start:
            switch TextTime(bytes, text) {
            case .absolute(let time), .relative(let time): start = time
            default:
                throw MalformedLine(what: "'\(bytes.quotation(text))' is not a start such as 2026-02-02T22:21:15Z")
            }
        case .date:
            guard let day = TextTime.date(bytes, text) else {
                throw MalformedLine(what: "'\(bytes.quotation(text))' is not a date such as 2026-02-02")
            }
            clock = DayClock(day)
        }
    }

    private static func withoutComment(_ range: Range<Int>, _ bytes: RawSpan) -> Range<Int> {
        guard let comment = range.first(where: { bytes.u8($0) == UInt8(ascii: "#") }) else { return range }
        var line = TextLine(at: range.lowerBound, end: comment)
        return line.rest(bytes)
    }

    private static func address(_ bytes: RawSpan, _ word: Range<Int>) throws -> BluetoothAddress {
        guard let address = bytes.address(word) else {
            throw MalformedLine(what: "'\(bytes.quotation(word))' is not an address such as A4:C1:38:01:02:03")
        }
        return address
    }

    private mutating func noteAddress(_ address: BluetoothAddress, facts: inout CaptureFileFacts) {
        peer = address
        guard facts.address == nil else { return }
        facts.address = address
        if let name = facts.name { facts.names[address] = name }
    }

    private mutating func resolve(_ written: TextTime) -> Duration? {
        switch written {
        case .none: nil
        case .absolute(let time): time
        case .relative(let time): start + time
        case .timeOfDay(let time): clock.take(time)
        }
    }

    private enum HeadKey: String {
        case name, address, profile, start, date

        init?(_ bytes: RawSpan, _ word: Range<Int>) {
            guard let colon = word.prefix(8).first(where: { bytes.u8($0) == UInt8(ascii: ":") }) else { return nil }
            self.init(rawValue: bytes.text(word.lowerBound..<colon).lowercased())
        }
    }

    private enum Verb {
        case travel(ValueFacts.Travel)
        case event(isBegin: Bool)

        private static let words: [(StaticString, Verb)] = [
            (">", .travel(.writeCommand)), ("<", .travel(.notification)), (">>", .travel(.writeRequest)),
            ("<<", .travel(.indication)), ("=", .travel(.read)), ("write", .travel(.writeCommand)),
            ("sent", .travel(.writeCommand)), ("request", .travel(.writeRequest)), ("notify", .travel(.notification)),
            ("notification", .travel(.notification)), ("received", .travel(.notification)),
            ("indicate", .travel(.indication)), ("indication", .travel(.indication)), ("read", .travel(.read)),
            ("connected", .event(isBegin: true)), ("disconnected", .event(isBegin: false)),
        ]

        init?(_ bytes: RawSpan, _ word: Range<Int>) {
            guard let found = Self.words.first(where: { bytes.equals(word, $0.0) }) else { return nil }
            self = found.1
        }
    }
}

/// A clock for times of day after a date. A time more than half a day before the previous one is on the next day.
struct DayClock {
    private var date = Duration.zero
    private var last: Duration?

    init(_ date: Duration = .zero) { self.date = date }

    mutating func take(_ time: Duration) -> Duration {
        if let last, last - time > .seconds(43_200) { date += .seconds(86_400) }
        last = time
        return date + time
    }
}

struct HexTextEncoder: FormatEncoder {
    private let facts: CaptureFileFacts
    private var peer: BluetoothAddress?
    /// The device names that are not written yet.
    private var names: [BluetoothAddress: String]

    init(_ facts: CaptureFileFacts) { (self.facts, names) = (facts, facts.names) }

    mutating func begin(_ output: inout [UInt8]) {
        output.append(
            """
            # waterh-bench hex text: time, direction (> write, >> write with response, < notification, << \
            indication, = read), characteristic, bytes\n
            """)
        if let address = facts.address {
            output.append("address: \(address)\n")
            peer = address
        }
        if let name = facts.name {
            output.append("name: \(TextEncoding.oneLine(name))\n")
            if let peer { names[peer] = nil }
        }
        if let profile = facts.profile { output.append("profile: \(TextEncoding.oneLine(profile))\n") }
    }

    mutating func write(_ packet: CapturePacket, _ bytes: RawSpan, _ output: inout [UInt8]) throws(CaptureError) -> Bool
    {
        let time = packet.time.map { TextEncoding.instant($0) } ?? "-"
        switch packet.content {
        case .connection(let isBegin, let peer):
            switchPeer(peer, &output)
            output.append("\(time)  \(isBegin ? "connected" : "disconnected")\n")
        case .value(let facts):
            switchPeer(facts.peer, &output)
            let name =
                facts.characteristic?.description ?? "handle:\(TextEncoding.digits(UInt64(facts.handle ?? 0), 4))"
            output.append("\(time)  \(Self.sign(facts.travel))  \(name) \(bytes.byteCount > 0 ? " " : "")")
            output.append(hex: bytes, separator: " ")
            output.append("\n")
        default: throw .cannotCarry("hex text has no place for \(packet.content.kindInWords)")
        }
        return true
    }

    /// Writes the address to which the following lines belong.
    private mutating func switchPeer(_ other: BluetoothAddress?, _ output: inout [UInt8]) {
        guard let other, other != peer else { return }
        output.append("address: \(other)\n")
        if let name = names.removeValue(forKey: other) { output.append("name: \(TextEncoding.oneLine(name))\n") }
        peer = other
    }

    private static func sign(_ travel: ValueFacts.Travel) -> String {
        switch travel {
        case .writeCommand: ">"
        case .writeRequest: ">>"
        case .notification: "<"
        case .indication: "<<"
        case .read: "="
        }
    }
}
