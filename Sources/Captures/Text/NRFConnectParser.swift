/// The plain-text log that nRF Connect exports (Android "share log"; the lines of iOS are read too).
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
///     [22:21:20.4500] Normal: Updated Value of Characteristic FFE4 to 5054 000F …        (iOS)
///
/// Level (D V I A W E), time of day without a zone (taken as UTC) and message, between tabs. Values are in the I lines;
/// the A line repeats it for people, and counts only where no I line went before (a log exported at the level
/// "Application"): then the characteristic is unknown. All other lines are passed over, and blanks and `>` before a
/// line, so that the log may stand in a README or a letter. Source: exports published by users of the app.
struct NRFConnectParser: FormatParser {
    private var date = Duration.zero
    private var hasDate = false
    private var lastTimeOfDay: Duration?
    private var peer: UInt64?
    /// The line before was the head line with the date: this one can be `NAME (ADDRESS)`.
    private var expectsDevice = false
    private var isWriteRequest = false
    /// Bytes of the last I line, for its A line.
    private var told: [UInt8]?
    private var value: [UInt8] = []

    static func sniff(_ head: RawSpan, isLast: Bool) -> Sniff {
        var at = TextHead.start(head)
        while case (var line, let next, _)? = TextLine.next(head, from: at, isLast: isLast) {
            if TextHead.isBinary(head, at..<next) { return .notMine }
            var rest = line
            if !rest.rest(head).isEmpty {
                line.skipQuotes(head)
                if head.has("nRF Connect", at: line.at) || head.has("nRF Toolbox", at: line.at)
                    || Entry(line, head) != nil
                {
                    return .mine
                }
                return .notMine
            }
            at = next
        }
        return isLast || TextHead.isBinary(head, at..<head.byteCount) ? .notMine : .undecided
    }

    /// Whether a log stands further down in a text: in the fenced or indented block of a README, quoted in a letter.
    /// Its head line tells, or two lines with values; everything else in the text is passed over.
    static func sniffEmbedded(_ head: RawSpan, isLast: Bool) -> Sniff {
        var at = TextHead.start(head), values = 0
        while let (line, next, _) = TextLine.next(head, from: at, isLast: isLast) {
            if TextHead.isBinary(head, at..<next) { return .notMine }
            if HeadLine(line, head) != nil { return .mine }
            if let entry = Entry(line, head), entry.holdsValue(head) {
                values += 1
                if values == 2 { return .mine }
            }
            at = next
        }
        return isLast || TextHead.isBinary(head, at..<head.byteCount) ? .notMine : .undecided
    }

    mutating func read(
        _ window: RawSpan, isLast: Bool, facts: inout CaptureFileFacts, _ body: (CapturePacket, RawSpan) throws -> Void
    ) throws -> Int {
        var at = 0
        if facts.format == nil {
            facts.format = CaptureFormat(.nrfConnect, .text)
            facts.linkTypes = [.text]
            facts.remarks.append("the log's times have no zone: they are taken as UTC")
            at = TextHead.start(window)
        }
        while let (line, next, isComplete) = TextLine.next(window, from: at, isLast: isLast) {
            switch read(line, window, isComplete: isComplete, facts: &facts) {
            case .nothing: break
            case .packet(var packet):
                facts.packets += 1
                packet.number = facts.packets
                try body(packet, value.span.bytes)
            case .malformed where !isComplete:
                throw CaptureError(
                    .cut, at: facts.offset + at,
                    """
                    the file ends at byte \(facts.offset + window.byteCount), in the middle of a line; everything \
                    before it was read
                    """
                )
            case .malformed:
                throw CaptureError(
                    .broken, at: facts.offset + at,
                    """
                    a value in this line is not pairs of hex digits: the file is damaged here; everything before \
                    it was read
                    """
                )
            }
            at = next
        }
        if !isLast, window.byteCount - at > longestPacket {
            throw CaptureError(
                .broken, at: facts.offset + at,
                "a line is longer than any value can be: the file is damaged here; everything before it was read")
        }
        return at
    }

    private enum Outcome {
        case nothing
        case packet(CapturePacket)
        case malformed
    }

    private mutating func read(_ line: TextLine, _ bytes: RawSpan, isComplete: Bool, facts: inout CaptureFileFacts)
        -> Outcome
    {
        guard let entry = Entry(line, bytes) else {
            readHead(line, bytes, facts: &facts)
            return .nothing
        }
        expectsDevice = false
        if !hasDate, !facts.remarks.contains(Self.noDate) { facts.remarks.append(Self.noDate) }
        let time = resolve(entry.timeOfDay)
        var message = entry.message
        let told = told
        self.told = nil
        value.removeAll(keepingCapacity: true)

        if message.take("Notification received from ", bytes) { return readValue(.notification, &message, bytes, time) }
        if message.take("Indication received from ", bytes) { return readValue(.indication, &message, bytes, time) }
        if message.take("Read Response received from ", bytes) { return readValue(.read, &message, bytes, time) }
        if message.take("Updated Value of Characteristic ", bytes) { return readUpdate(&message, bytes, time) }
        if message.take("Data written to descr.", bytes) { return .nothing }
        if message.take("Data written to ", bytes) {
            return readValue(isWriteRequest ? .writeRequest : .writeCommand, &message, bytes, time)
        }
        if message.take("Writing command to characteristic ", bytes) { isWriteRequest = false }
        if message.take("Writing request to characteristic ", bytes)
            || message.take("Writing to characteristic ", bytes)
        {
            isWriteRequest = true
        }
        if message.take("Connected to ", bytes) || message.take("Connecting to ", bytes) {
            let isBegin = bytes.has("Connected", at: entry.message.at)
            if let word = message.word(bytes), let address = bytes.address(word.prefix(17)) {
                note(address, facts: &facts)
            }
            if isBegin {
                return .packet(
                    CapturePacket(
                        number: 0, time: time, direction: nil,
                        content: .connection(ConnectionFacts(isBegin: true, peer: peer))))
            }
            return .nothing
        }
        if message.take("Disconnected", bytes) {
            return .packet(
                CapturePacket(
                    number: 0, time: time, direction: nil,
                    content: .connection(ConnectionFacts(isBegin: false, peer: peer))))
        }
        if entry.isApplication, message.take("\"(0x) ", bytes) {
            return readApplication(&message, bytes, time, told: told)
        }
        // Lines between an I line and its A line do not part them.
        self.told = told
        return .nothing
    }

    private static let noDate = "the log names no date: its times are taken as of 1970-01-01"

    /// `UUID, value: (0x) 50-54-…` or `UUID, value: 0 bytes`.
    private mutating func readValue(
        _ travel: ValueFacts.Travel, _ message: inout TextLine, _ bytes: RawSpan, _ time: CaptureTime
    ) -> Outcome {
        guard var word = message.word(bytes) else { return .malformed }
        if let last = word.last, bytes.u8(last) == UInt8(ascii: ",") { word.removeLast() }
        guard let characteristic = bytes.characteristic(word) else { return .malformed }
        _ = message.take(" ", bytes)
        guard message.take("value: ", bytes) else { return .malformed }
        if message.take("(0x)", bytes) {
            guard bytes.hexBytes(message.rest(bytes), into: &value) else { return .malformed }
        } else if !message.take("0 bytes", bytes) {
            return .malformed
        }
        told = value
        return .packet(
            CapturePacket(
                number: 0, time: time, direction: travel.direction,
                content: .value(ValueFacts(travel: travel, characteristic: characteristic, peer: peer))))
    }

    /// iOS: `FFE4 to 5054 000F 0E06.`
    private mutating func readUpdate(_ message: inout TextLine, _ bytes: RawSpan, _ time: CaptureTime) -> Outcome {
        guard let word = message.word(bytes), let characteristic = bytes.characteristic(word) else { return .malformed }
        _ = message.take(" ", bytes)
        guard message.take("to ", bytes) else { return .malformed }
        var rest = message.rest(bytes)
        if let last = rest.last, bytes.u8(last) == UInt8(ascii: ".") { rest.removeLast() }
        guard bytes.hexBytes(rest, into: &value) else { return .malformed }
        return .packet(
            CapturePacket(
                number: 0, time: time, direction: .received,
                content: .value(ValueFacts(travel: .notification, characteristic: characteristic, peer: peer))))
    }

    /// `50-54-…" received` of an A line without its I line.
    private mutating func readApplication(
        _ message: inout TextLine, _ bytes: RawSpan, _ time: CaptureTime, told: [UInt8]?
    ) -> Outcome {
        let rest = message.rest(bytes)
        guard let quote = rest.last(where: { bytes.u8($0) == UInt8(ascii: "\"") }) else { return .malformed }
        guard bytes.hexBytes(rest.lowerBound..<quote, into: &value) else { return .malformed }
        guard value != told else { return .nothing }
        let travel: ValueFacts.Travel = bytes.has("\" sent", at: quote) ? .writeCommand : .notification
        return .packet(
            CapturePacket(
                number: 0, time: time, direction: travel.direction,
                content: .value(ValueFacts(travel: travel, characteristic: .handle(0), peer: peer))))
    }

    private mutating func readHead(_ line: TextLine, _ bytes: RawSpan, facts: inout CaptureFileFacts) {
        var line = line
        line.skipQuotes(bytes)
        if let headLine = HeadLine(line, bytes) {
            expectsDevice = true
            if let day = headLine.day {
                date = day
                hasDate = true
                lastTimeOfDay = nil
            }
            return
        }
        guard expectsDevice else { return }
        expectsDevice = false
        let rest = line.rest(bytes)
        guard let open = rest.last(where: { bytes.u8($0) == UInt8(ascii: "(") }), rest.upperBound - open >= 19,
            let address = bytes.address(open + 1..<open + 18)
        else { return }
        note(address, facts: &facts)
        var name = rest.lowerBound..<open
        while let last = name.last, bytes.u8(last) == 0x20 { name.removeLast() }
        guard !name.isEmpty else { return }
        let text = bytes.text(name.prefix(255))
        if facts.name == nil { facts.name = text }
        if facts.names.count < CaptureFileFacts.mostNames { facts.names[address] = text }
    }

    private mutating func note(_ address: UInt64, facts: inout CaptureFileFacts) {
        peer = address
        if facts.address == nil { facts.address = address }
    }

    private mutating func resolve(_ time: Duration) -> CaptureTime {
        if let lastTimeOfDay, lastTimeOfDay - time > .seconds(43_200) { date += .seconds(86_400) }
        lastTimeOfDay = time
        return CaptureTime(sinceEpoch: date + time)
    }

    /// `nRF Connect, 2026-02-02`.
    private struct HeadLine {
        /// Since 1970; `nil` where the line names none.
        var day: Duration?

        init?(_ line: TextLine, _ bytes: RawSpan) {
            var line = line
            line.skipQuotes(bytes)
            guard line.take("nRF Connect, ", bytes) || line.take("nRF Toolbox, ", bytes) else { return nil }
            day = TextTime.date(bytes, line.rest(bytes).prefix(10))
        }
    }

    /// A line of the log proper: level, time, message.
    private struct Entry {
        var timeOfDay: Duration
        var message: TextLine
        var isApplication: Bool

        init?(_ line: TextLine, _ bytes: RawSpan) {
            var line = line
            line.skipQuotes(bytes)
            if line.take("[", bytes) {
                guard let bracket = (line.at..<line.end).first(where: { bytes.u8($0) == UInt8(ascii: "]") }),
                    let time = TextTime.clock(bytes, line.at..<bracket)
                else { return nil }
                line.at = bracket + 1
                guard let level = line.word(bytes), bytes.u8(level.upperBound - 1) == UInt8(ascii: ":") else {
                    return nil
                }
                (timeOfDay, isApplication) = (time, false)
            } else {
                guard let level = line.word(bytes), level.count == 1,
                    "DVIAWE".utf8.contains(bytes.u8(level.lowerBound)),
                    let word = line.word(bytes), let time = TextTime.clock(bytes, word)
                else { return nil }
                (timeOfDay, isApplication) = (time, bytes.u8(level.lowerBound) == UInt8(ascii: "A"))
            }
            line.skipBlanks(bytes)
            message = line
        }

        /// Whether a value stands in it.
        func holdsValue(_ bytes: RawSpan) -> Bool {
            (message.at..<message.end).contains { bytes.has("(0x) ", at: $0) }
                || bytes.has("Updated Value of Characteristic ", at: message.at)
        }
    }
}
