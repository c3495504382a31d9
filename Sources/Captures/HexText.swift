import Bluetooth

/// Hex text, a format of this project that is easy to write and to diff. UTF-8, one record per line.
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
    private var start = Duration.zero
    private var clock = DayClock()
    private var peer: BluetoothAddress?

    static func detect(_ head: RawSpan, isLast: Bool) -> Detection {
        if head.has("# waterh-bench hex text", at: head.textStart) { return .match }
        return detectLines(head, isLast: isLast) { line, _ in
            var line = line
            guard let first = line.takeWord() else { return nil }
            if HeaderKey(first) != nil || event(first) != nil { return true }
            guard TextTime(first) != nil, let second = line.takeWord() else { return false }
            return event(second) != nil
        }
    }

    mutating func parse(_ line: TextLine, info: inout CaptureFileInfo, _ body: PacketSink) throws {
        var rest = line.text
        guard let first = rest.takeWord() else { return }
        // `takeWord` returns `name:WaterH` (without a space) as one word.
        if let key = HeaderKey(first) {
            return try parseHeader(key, line.text.drop { $0 != UInt8(ascii: ":") }.dropFirst().trimmed, info: &info)
        }
        var event = Self.event(first), time: Duration?
        if event == nil {
            guard let written = TextTime(first) else {
                throw MalformedLine(
                    reason: """
                        '\(first.quotation)' is neither a time (12.5, 2026-02-02T22:21:15Z, 22:21:15, -) nor \
                        a direction nor a header keyword
                        """)
            }
            guard let second = rest.takeWord() else {
                throw MalformedLine(reason: "the direction is missing after the time (> < >> << =)")
            }
            event = Self.event(second)
            guard event != nil else {
                throw MalformedLine(
                    reason: """
                        '\(second.quotation)' is not a direction: use > (write), >> (write with response), \
                        < (notification), << (indication), = (read), connected or disconnected
                        """)
            }
            time = resolve(written)
        }
        var packet = CapturePacket(number: 0, time: time, direction: nil, content: .unknown), value: [UInt8] = []
        switch event {
        case .connection(let isStart):
            if let word = rest.takeWord() { storeAddress(try Self.address(word), info: &info) }
            packet.content = .connection(isStart: isStart, peer: peer)
        case .value(let kind):
            guard let (uuid, handle) = rest.takeWord()?.characteristic else {
                throw MalformedLine(
                    reason: "the characteristic is missing after the direction (FFE4, a full UUID, or handle:0025)")
            }
            guard let bytes = rest.withoutComment.hexBytes else {
                throw MalformedLine(reason: "the bytes are not pairs of hex digits")
            }
            value = bytes
            packet.content = .value(ValueInfo(kind: kind, characteristic: uuid, handle: handle, peer: peer))
            packet.direction = kind.direction
        case nil: return
        }
        info.packets += 1
        packet.number = info.packets
        try body(packet, value.span.bytes)
    }

    private mutating func parseHeader(_ key: HeaderKey, _ text: Text, info: inout CaptureFileInfo) throws {
        let word = text.withoutComment
        switch key {
        case .name:
            let name = text.prefix(255).string
            if info.name == nil { info.name = name }
            if let peer { info.addName(name, of: peer) }
        case .profile: info.profile = word.prefix(64).string
        case .address: storeAddress(try Self.address(word), info: &info)
        case .start:
            switch TextTime(word) {
            case .absolute(let time), .relative(let time): start = time
            default: throw MalformedLine(reason: "'\(word.quotation)' is not a start time such as 2026-02-02T22:21:15Z")
            }
        case .date:
            guard let day = TextTime.date(word) else {
                throw MalformedLine(reason: "'\(word.quotation)' is not a date such as 2026-02-02")
            }
            clock = DayClock(day)
        }
    }

    private static func address(_ word: Text) throws -> BluetoothAddress {
        guard let address = word.address else {
            throw MalformedLine(reason: "'\(word.quotation)' is not an address such as A4:C1:38:01:02:03")
        }
        return address
    }

    private mutating func storeAddress(_ address: BluetoothAddress, info: inout CaptureFileInfo) {
        peer = address
        guard info.address == nil else { return }
        info.address = address
        if let name = info.name { info.names[address] = name }
    }

    private mutating func resolve(_ written: TextTime) -> Duration? {
        switch written {
        case .none: nil
        case .absolute(let time): time
        case .relative(let time): start + time
        case .timeOfDay(let time): clock.resolve(time)
        }
    }

    private enum HeaderKey: String {
        case name, address, profile, start, date

        init?(_ word: Text) {
            guard let colon = word.prefix(8).firstIndex(of: UInt8(ascii: ":")) else { return nil }
            self.init(rawValue: word[..<colon].string.lowercased())
        }
    }

    private enum Event {
        case value(ValueInfo.Kind)
        case connection(isStart: Bool)
    }

    private static let events: [String: Event] = [
        ">": .value(.writeCommand), "write": .value(.writeCommand), "sent": .value(.writeCommand),
        ">>": .value(.writeRequest), "request": .value(.writeRequest), "<": .value(.notification),
        "notify": .value(.notification), "notification": .value(.notification), "received": .value(.notification),
        "<<": .value(.indication), "indicate": .value(.indication), "indication": .value(.indication),
        "=": .value(.read), "read": .value(.read), "connected": .connection(isStart: true),
        "disconnected": .connection(isStart: false),
    ]

    private static func event(_ word: Text) -> Event? { events[word.string.lowercased()] }
}

/// Converts times of day to times since 1970. A time more than half a day before the previous one is on the next day.
struct DayClock {
    private var date = Duration.zero
    private var last: Duration?

    init(_ date: Duration = .zero) { self.date = date }

    mutating func resolve(_ time: Duration) -> Duration {
        if let last, last - time > .seconds(43_200) { date += .seconds(86_400) }
        last = time
        return date + time
    }
}

struct HexTextEncoder: FormatEncoder {
    private let info: CaptureFileInfo
    private var peer: BluetoothAddress?
    /// The device names that are not written yet.
    private var names: [BluetoothAddress: String]

    init(_ info: CaptureFileInfo) { (self.info, names) = (info, info.names) }

    mutating func begin(_ output: inout [UInt8]) {
        output.append(
            """
            # waterh-bench hex text: time, direction (> write, >> write with response, < notification, << \
            indication, = read), characteristic, bytes\n
            """)
        if let address = info.address {
            output.append("address: \(address)\n")
            peer = address
        }
        if let name = info.name {
            output.append("name: \(TextEncoding.oneLine(name))\n")
            if let peer { names[peer] = nil }
        }
        if let profile = info.profile { output.append("profile: \(TextEncoding.oneLine(profile))\n") }
    }

    mutating func write(_ packet: CapturePacket, _ bytes: RawSpan, _ output: inout [UInt8]) throws(CaptureError) -> Bool
    {
        let time = packet.time.map { TextEncoding.instant($0) } ?? "-"
        switch packet.content {
        case .connection(let isStart, let peer):
            writeAddressIfChanged(peer, &output)
            output.append("\(time)  \(isStart ? "connected" : "disconnected")\n")
        case .value(let info):
            writeAddressIfChanged(info.peer, &output)
            let name = info.characteristic?.description ?? "handle:\((info.handle ?? 0).hexDigits)"
            output.append("\(time)  \(Self.directionSymbol(info.kind))  \(name) \(bytes.byteCount > 0 ? " " : "")")
            output.append(hex: bytes, separator: " ")
            output.append("\n")
        default: throw .notStorable("hex text cannot store \(packet.content.kindName)")
        }
        return true
    }

    /// Writes the address of the following lines, if it differs from that of the preceding ones.
    private mutating func writeAddressIfChanged(_ other: BluetoothAddress?, _ output: inout [UInt8]) {
        guard let other, other != peer else { return }
        output.append("address: \(other)\n")
        if let name = names.removeValue(forKey: other) { output.append("name: \(TextEncoding.oneLine(name))\n") }
        peer = other
    }

    private static func directionSymbol(_ kind: ValueInfo.Kind) -> String {
        switch kind {
        case .writeCommand: ">"
        case .writeRequest: ">>"
        case .notification: "<"
        case .indication: "<<"
        case .read: "="
        }
    }
}
