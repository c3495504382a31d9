// The writers of the text formats; the grammars stand at their readers.

struct HexTextEncoder {
    private var peer: UInt64?
    /// Of those whose name is not written yet.
    private var names: [UInt64: String]

    init(facts: CaptureFileFacts, _ output: inout [UInt8]) {
        names = facts.names
        output.append(
            """
            # waterh-bench hex text: time, direction (> write, >> write with response, < notification, << \
            indication, = read), characteristic, bytes\n
            """
        )
        if let address = facts.address {
            output.append("address: \(TextEncoding.address(address))\n")
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
        case .connection(let facts):
            switchPeer(facts.peer, &output)
            output.append("\(time)  \(facts.isBegin ? "connected" : "disconnected")\n")
        case .value(let facts):
            switchPeer(facts.peer, &output)
            output.append("\(time)  \(Self.sign(facts.travel))  \(Self.name(facts.characteristic)) ")
            for index in 0..<bytes.byteCount {
                output.append(UInt8(ascii: " "))
                output.append(hex: bytes.u8(index))
            }
            output.append("\n")
        default:
            throw CaptureError(.cannotCarry, at: 0, "hex text has no place for \(packet.content.kindInWords)")
        }
        return true
    }

    /// The head line `address:` says whose the following lines are, `name:` how that device is called.
    private mutating func switchPeer(_ other: UInt64?, _ output: inout [UInt8]) {
        guard let other, other != peer else { return }
        output.append("address: \(TextEncoding.address(other))\n")
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

    private static func name(_ characteristic: CharacteristicName) -> String {
        switch characteristic {
        case .handle(let handle): "handle:\(TextEncoding.digits(UInt64(handle), 4))"
        case .uuid(let high, let low): TextEncoding.uuid(high, low, short: true)
        }
    }
}

struct NRFConnectEncoder {
    private let names: [UInt64: String]
    private var peer: UInt64?
    private var day: Int64?

    init(facts: CaptureFileFacts) {
        var names = facts.names
        if let address = facts.address, let name = facts.name { names[address] = name }
        self.names = names
    }

    mutating func write(_ packet: CapturePacket, _ bytes: RawSpan, _ output: inout [UInt8]) throws(CaptureError) -> Bool
    {
        guard let time = packet.time else {
            throw CaptureError(
                .cannotCarry, at: 0, "nRF Connect's log has a time in every line, and record \(packet.number) has none")
        }
        switch packet.content {
        case .connection(let facts):
            startPage(time, facts.peer, &output)
            let clock = TextEncoding.clock(time)
            if facts.isBegin {
                let address = facts.peer.map { TextEncoding.address($0) } ?? "00:00:00:00:00:00"
                output.append("V\t\(clock)\tConnecting to \(address)...\nI\t\(clock)\tConnected to \(address)\n")
            } else {
                output.append("I\t\(clock)\tDisconnected\n")
            }
        case .value(let facts):
            guard case .uuid(let high, let low) = facts.characteristic else {
                throw CaptureError(
                    .cannotCarry, at: 0,
                    """
                    nRF Connect's log names characteristics by UUID, and in record \(packet.number) only a handle \
                    is known: convert to hex text, or name the handles
                    """
                )
            }
            startPage(time, facts.peer, &output)
            writeValue(
                facts.travel, TextEncoding.uuid(high, low, short: false).lowercased(), TextEncoding.clock(time), bytes,
                &output)
        default:
            throw CaptureError(.cannotCarry, at: 0, "nRF Connect's log has no place for \(packet.content.kindInWords)")
        }
        return true
    }

    /// The I line with the value and the A line that repeats it for people; for writes also the line that tells their
    /// kind.
    private func writeValue(
        _ travel: ValueFacts.Travel, _ uuid: String, _ clock: String, _ bytes: RawSpan, _ output: inout [UInt8]
    ) {
        switch travel {
        case .writeCommand:
            output.append(
                "V\t\(clock)\tWriting command to characteristic \(uuid)\nI\t\(clock)\tData written to \(uuid), value: ")
        case .writeRequest:
            output.append(
                "V\t\(clock)\tWriting request to characteristic \(uuid)\nI\t\(clock)\tData written to \(uuid), value: ")
        case .notification: output.append("I\t\(clock)\tNotification received from \(uuid), value: ")
        case .indication: output.append("I\t\(clock)\tIndication received from \(uuid), value: ")
        case .read: output.append("I\t\(clock)\tRead Response received from \(uuid), value: ")
        }
        guard bytes.byteCount > 0 else {
            output.append("0 bytes\n")
            return
        }
        appendValue(bytes, &output)
        output.append("\nA\t\(clock)\t\"")
        appendValue(bytes, &output)
        output.append(travel.direction == .sent ? "\" sent\n" : "\" received\n")
    }

    private func appendValue(_ bytes: RawSpan, _ output: inout [UInt8]) {
        output.append("(0x) ")
        for index in 0..<bytes.byteCount {
            if index > 0 { output.append(UInt8(ascii: "-")) }
            output.append(hex: bytes.u8(index))
        }
    }

    /// A page has one date and one device: another of either begins a new page.
    private mutating func startPage(_ time: CaptureTime, _ other: UInt64?, _ output: inout [UInt8]) {
        let today = TextEncoding.day(time)
        guard today != day || (other != nil && other != peer) else { return }
        day = today
        peer = other ?? peer
        output.append("nRF Connect, \(TextEncoding.date(time))\n")
        if let peer {
            output.append("\(names[peer].map { TextEncoding.oneLine($0) } ?? "N/A") (\(TextEncoding.address(peer)))\n")
        }
    }
}

/// Numbers and times as text.
enum TextEncoding {
    static func digits(_ value: UInt64, _ width: Int, radix: Int = 16) -> String {
        let text = String(value, radix: radix, uppercase: true)
        return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }

    static func address(_ address: UInt64) -> String {
        (0..<6).reversed().map { digits(address >> (8 * UInt64($0)) & 0xFF, 2) }.joined(separator: ":")
    }

    /// - Parameter short: `FFE4` where the UUID has a short form; else always the full form.
    static func uuid(_ high: UInt64, _ low: UInt64, short: Bool) -> String {
        if short, low == 0x8000_0080_5F9B_34FB, high & 0xFFFF_0000_FFFF_FFFF == 0x1000 {
            return digits(high >> 32, 4)
        }
        return [
            digits(high >> 32, 8), digits(high >> 16 & 0xFFFF, 4), digits(high & 0xFFFF, 4), digits(low >> 48, 4),
            digits(low & 0xFFFF_FFFF_FFFF, 12),
        ]
        .joined(separator: "-")
    }

    static func day(_ time: CaptureTime) -> Int64 {
        let seconds = time.seconds
        return seconds >= 0 ? seconds / 86_400 : -((-(seconds + 1)) / 86_400) - 1
    }

    static func date(_ time: CaptureTime) -> String {
        let (year, month, day) = CivilDate.date(days: day(time))
        return
            """
            \(digits(UInt64(clamping: year), 4, radix: 10))-\(digits(UInt64(month), 2, radix: 10))-\
            \(digits(UInt64(day), 2, radix: 10))
            """
    }

    /// `22:21:15.450`, UTC: three digits after the point, or as many as it takes (6, 9).
    static func clock(_ time: CaptureTime) -> String {
        let second = UInt64(time.seconds - day(time) * 86_400)
        let nanosecond = UInt64(time.nanosecond)
        let fraction =
            nanosecond % 1_000_000 == 0
            ? digits(nanosecond / 1_000_000, 3, radix: 10)
            : nanosecond % 1000 == 0 ? digits(nanosecond / 1000, 6, radix: 10) : digits(nanosecond, 9, radix: 10)
        return
            """
            \(digits(second / 3600, 2, radix: 10)):\(digits(second / 60 % 60, 2, radix: 10)):\
            \(digits(second % 60, 2, radix: 10)).\(fraction)
            """
    }

    /// `2026-02-02T22:21:15.450Z`; seconds since 1970 for years that ISO 8601 does not write with four digits.
    static func instant(_ time: CaptureTime) -> String {
        (0..<253_402_300_800).contains(time.seconds) ? "\(date(time))T\(clock(time))Z" : time.description
    }

    /// Names come from the air: nothing in them may end a line or colour a terminal.
    static func oneLine(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F && !(0x80...0x9F).contains($0.value) }
            ))
    }
}

extension Array where Element == UInt8 {
    mutating func append(_ text: String) { append(contentsOf: text.utf8) }

    mutating func append(hex byte: UInt8) {
        for nibble in [byte >> 4, byte & 0x0F] { append(nibble < 10 ? 0x30 + nibble : 0x37 + nibble) }
    }
}
