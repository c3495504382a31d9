import Bluetooth

protocol LineParser: FormatParser {
    static var format: CaptureFormat { get }
    /// Number of the current line, from 1.
    var line: Int { get set }
    mutating func begin(facts: inout CaptureFileFacts)
    /// Reads one line. - Throws: `MalformedLine` if the line is invalid.
    /// - Parameters:
    ///   - place: the file offset of the line.
    ///   - isComplete: whether the line ends with a line break.
    mutating func take(
        _ line: TextLine, _ window: RawSpan, place: Int, isComplete: Bool, facts: inout CaptureFileFacts,
        _ body: PacketBody) throws
    /// Delivers the last packet. - Parameter end: the file offset of the end.
    mutating func finish(end: Int, facts: inout CaptureFileFacts, _ body: PacketBody) throws
}

struct MalformedLine: Error {
    var what: String
}

extension LineParser {
    mutating func begin(facts: inout CaptureFileFacts) { facts.linkTypes = [Self.format.linkType] }
    mutating func finish(end: Int, facts: inout CaptureFileFacts, _ body: PacketBody) throws {}

    mutating func read(_ window: RawSpan, isLast: Bool, facts: inout CaptureFileFacts, _ body: PacketBody) throws -> Int
    {
        var at = 0
        if facts.format == nil {
            facts.format = Self.format
            begin(facts: &facts)
            at = TextLine.start(window)
        }
        let end = facts.offset + window.byteCount
        while let (line, next, isComplete) = TextLine.next(window, from: at, isLast: isLast) {
            self.line += 1
            do {
                try take(line, window, place: facts.offset + at, isComplete: isComplete, facts: &facts, body)
            } catch let error as MalformedLine {
                let place = facts.offset + at
                throw isComplete
                    ? CaptureError(
                        .broken, at: place, "line \(self.line): \(error.what); everything before it was read")
                    : CaptureError(
                        .cut, at: place,
                        """
                        the file ends at byte \(end), in the middle of line \(self.line); everything before it was read
                        """)
            }
            at = next
        }
        if !isLast, window.byteCount - at > longestPacket {
            throw CaptureError.broken(at: facts.offset + at, "line \(line + 1) is longer than any packet can be")
        }
        if isLast { try finish(end: end, facts: &facts, body) }
        return at
    }

    /// Calls the function for each line that is not blank: `true` for this format, `false` for another, `nil` to read
    /// on.
    /// - Parameter most: the maximum number of lines, after which the file does not have this format.
    static func sniffLines(
        _ head: RawSpan, isLast: Bool, most: Int = .max, _ judge: (TextLine, _ isWhole: Bool) -> Bool?
    ) -> Sniff {
        var at = TextLine.start(head), count = 0
        while let (line, next, isComplete) = TextLine.next(head, from: at, isLast: isLast) {
            // A text file has no zero bytes.
            if (at..<next).contains(where: { head.u8($0) == 0 }) { return .notMine }
            var rest = line
            if !rest.rest(head).isEmpty {
                if let answer = judge(line, isComplete || isLast) { return answer ? .mine : .notMine }
                count += 1
                if count == most { return .notMine }
            }
            at = next
        }
        return isLast || (at..<head.byteCount).contains { head.u8($0) == 0 } ? .notMine : .undecided
    }
}

/// A line of a text capture: a range of bytes in a window. No strings are created for packets.
struct TextLine {
    /// The offset of the next byte and of the end of the line, in the window.
    var at: Int
    let end: Int

    /// The offset at which the text starts, after a byte order mark.
    static func start(_ bytes: RawSpan) -> Int { bytes.has("\u{FEFF}", at: 0) ? 3 : 0 }

    mutating func skipBlanks(_ bytes: RawSpan) {
        while at < end, bytes.u8(at) == 0x20 || bytes.u8(at) == 0x09 { at += 1 }
    }

    /// Skips spaces and quote marks (`> `).
    mutating func skipQuotes(_ bytes: RawSpan) {
        while at < end, bytes.u8(at) == 0x20 || bytes.u8(at) == 0x09 || bytes.u8(at) == UInt8(ascii: ">") { at += 1 }
    }

    /// The next word; `nil` at the end of the line or at a comment.
    mutating func word(_ bytes: RawSpan) -> Range<Int>? {
        skipBlanks(bytes)
        guard at < end, bytes.u8(at) != UInt8(ascii: "#") else { return nil }
        let start = at
        while at < end, bytes.u8(at) != 0x20, bytes.u8(at) != 0x09 { at += 1 }
        return start..<at
    }

    /// Everything up to the end of the line, without the spaces around it.
    mutating func rest(_ bytes: RawSpan) -> Range<Int> {
        skipBlanks(bytes)
        var last = end
        while last > at, bytes.u8(last - 1) == 0x20 || bytes.u8(last - 1) == 0x09 { last -= 1 }
        defer { at = end }
        return at..<last
    }

    mutating func take(_ text: StaticString, _ bytes: RawSpan) -> Bool {
        guard end - at >= text.utf8CodeUnitCount, bytes.has(text, at: at) else { return false }
        at += text.utf8CodeUnitCount
        return true
    }

    /// The next line of a window without its line break, and the start of the one after; `nil` if incomplete.
    static func next(_ bytes: RawSpan, from start: Int, isLast: Bool) -> (line: TextLine, next: Int, isComplete: Bool)?
    {
        guard start < bytes.byteCount else { return nil }
        let found: Int? = bytes.withUnsafeBytes { raw in raw[start...].firstIndex(of: 0x0A) }
        guard found != nil || isLast else { return nil }
        var end = found ?? bytes.byteCount
        let next = found.map { $0 + 1 } ?? end
        if end > start, bytes.u8(end - 1) == 0x0D { end -= 1 }
        return (TextLine(at: start, end: end), next, found != nil)
    }
}

extension RawSpan {
    /// Whether these bytes equal the text, in any case.
    func equals(_ range: Range<Int>, _ text: StaticString) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        for index in 0..<range.count {
            var byte = u8(range.lowerBound + index)
            if (0x41...0x5A).contains(byte) { byte |= 0x20 }
            if byte != text.utf8Start[index] { return false }
        }
        return true
    }

    /// The bytes as text; invalid UTF-8 is replaced.
    func text(_ range: Range<Int>) -> String { String(decoding: range.map { u8($0) }, as: UTF8.self) }

    /// The bytes as text for a message: short, without control characters.
    func quotation(_ range: Range<Int>) -> String {
        TextEncoding.oneLine(text(range.prefix(40))) + (range.count > 40 ? "…" : "")
    }

    func nibble(_ offset: Int) -> UInt8? {
        switch u8(offset) {
        case let digit where (0x30...0x39).contains(digit): digit - 0x30
        case let digit where (0x41...0x46).contains(digit): digit - 0x37
        case let digit where (0x61...0x66).contains(digit): digit - 0x57
        default: nil
        }
    }

    /// The value of decimal digits; `nil` for other text or more than 18 digits.
    func decimal(_ range: Range<Int>) -> Int64? {
        guard !range.isEmpty, range.count <= 18 else { return nil }
        var value: Int64 = 0
        for index in range {
            guard (0x30...0x39).contains(u8(index)) else { return nil }
            value = value * 10 + Int64(u8(index) - 0x30)
        }
        return value
    }

    /// Parses pairs of hex digits, with or without spaces, `-`, `:` or `,` between them and `0x` before them.
    /// - Returns: `false` for any other text, or half a byte.
    func hexBytes(_ range: Range<Int>, into bytes: inout [UInt8]) -> Bool {
        bytes.removeAll(keepingCapacity: true)
        var at = range.lowerBound
        while at < range.upperBound {
            switch u8(at) {
            case 0x20, 0x09, UInt8(ascii: "-"), UInt8(ascii: ":"), UInt8(ascii: ","):
                at += 1
            case UInt8(ascii: "0") where at + 1 < range.upperBound && u8(at + 1) | 0x20 == UInt8(ascii: "x"):
                at += 2
            default:
                guard at + 1 < range.upperBound, let high = nibble(at), let low = nibble(at + 1) else { return false }
                bytes.append(high << 4 | low)
                at += 2
            }
        }
        return true
    }

    /// A Bluetooth address, `A4:C1:38:01:02:03`.
    func address(_ range: Range<Int>) -> BluetoothAddress? {
        range.count == 17 ? BluetoothAddress(text(range)) : nil
    }

    /// A characteristic: `FFE4`, `0xFFE4`, a full UUID with dashes, or `handle:0x0025`.
    func characteristic(_ range: Range<Int>) -> (uuid: BluetoothUUID?, handle: UInt16?)? {
        let word = text(range).lowercased()
        guard word.hasPrefix("handle:") else {
            // Dashes belong to the full form only.
            guard !word.contains("-") || range.count == 36 else { return nil }
            return BluetoothUUID(word).map { ($0, nil) }
        }
        let digits = word.dropFirst(word.hasPrefix("handle:0x") ? 9 : 7)
        guard (1...4).contains(digits.utf8.count), let handle = UInt16(digits, radix: 16) else { return nil }
        return (nil, handle)
    }
}

package enum TextTime: Hashable {
    /// `-`: the time is unknown.
    case none
    /// `12.345`: seconds after the start in the header (1970 without one).
    case relative(Duration)
    /// `2026-02-02T22:21:15.5Z`, `…+01:00`; UTC without a zone.
    case absolute(Duration)
    /// `22:21:15.5`: a time of day; the day is known from other lines.
    case timeOfDay(Duration)

    /// Parses a word; also `22:21`, `2026-02-02` and `2026-02-02 22:21`. `nil` if it is not a time.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        let all = bytes.span.bytes, range = 0..<bytes.count
        if let date = Self.date(all, range) {
            self = .absolute(date)
        } else if let time = Self.clock(all, range, allowsMinutes: true) {
            self = .timeOfDay(time)
        } else {
            self.init(all, range, allowsMinutes: true)
        }
    }

    init?(_ bytes: RawSpan, _ range: Range<Int>, allowsMinutes: Bool = false) {
        if range.count == 1, bytes.u8(range.lowerBound) == UInt8(ascii: "-") {
            self = .none
        } else if range.count > 10, let date = Self.date(bytes, range.lowerBound..<range.lowerBound + 10) {
            guard "tT_ ".utf8.contains(bytes.u8(range.lowerBound + 10)) else { return nil }
            var clock = range.lowerBound + 11..<range.upperBound
            guard let zone = Self.takeZone(bytes, &clock),
                let time = Self.clock(bytes, clock, allowsMinutes: allowsMinutes)
            else { return nil }
            self = .absolute(date + time - .seconds(zone))
        } else if let time = Self.clock(bytes, range) {
            self = .timeOfDay(time)
        } else {
            guard let seconds = Self.seconds(bytes, range) else { return nil }
            self = .relative(seconds)
        }
    }

    /// `YYYY-MM-DD` as time since 1970.
    static func date(_ bytes: RawSpan, _ range: Range<Int>) -> Duration? {
        guard range.count == 10, bytes.u8(range.lowerBound + 4) == UInt8(ascii: "-"),
            bytes.u8(range.lowerBound + 7) == UInt8(ascii: "-"),
            let year = bytes.decimal(range.lowerBound..<range.lowerBound + 4),
            let month = bytes.decimal(range.lowerBound + 5..<range.lowerBound + 7),
            let day = bytes.decimal(range.lowerBound + 8..<range.lowerBound + 10),
            (1...12).contains(month)
        else { return nil }
        let seconds = CivilTime.days(year: Int(year), month: Int(month), day: Int(day)) * 86_400
        return CivilTime(secondsSince1970: seconds).day == day ? .seconds(seconds) : nil
    }

    /// `HH:MM:SS` with any number of digits after a point or comma.
    static func clock(_ bytes: RawSpan, _ range: Range<Int>, allowsMinutes: Bool = false) -> Duration? {
        guard range.count >= (allowsMinutes ? 4 : 7) else { return nil }
        let colon = UInt8(ascii: ":")
        let hourLength = bytes.u8(range.lowerBound + 1) == colon ? 1 : 2
        let minutes = range.lowerBound + hourLength + 1
        guard range.upperBound - minutes >= 2, bytes.u8(minutes - 1) == colon,
            let hour = bytes.decimal(range.lowerBound..<range.lowerBound + hourLength),
            let minute = bytes.decimal(minutes..<minutes + 2), hour < 24, minute < 60
        else { return nil }
        let start = Duration.seconds(hour * 3600 + minute * 60)
        if allowsMinutes, range.upperBound == minutes + 2 { return start }
        guard range.upperBound - minutes >= 5, bytes.u8(minutes + 2) == colon,
            let second = seconds(bytes, minutes + 3..<range.upperBound), second < .seconds(61), second >= .zero
        else { return nil }
        return start + second
    }

    /// Parses decimal seconds with a sign; digits beyond attoseconds are dropped.
    static func seconds(_ bytes: RawSpan, _ range: Range<Int>) -> Duration? {
        var range = range
        let isNegative = !range.isEmpty && bytes.u8(range.lowerBound) == UInt8(ascii: "-")
        if isNegative || (!range.isEmpty && bytes.u8(range.lowerBound) == UInt8(ascii: "+")) { range.removeFirst() }
        let point =
            range.first { bytes.u8($0) == UInt8(ascii: ".") || bytes.u8($0) == UInt8(ascii: ",") } ?? range.upperBound
        guard let whole = bytes.decimal(range.lowerBound..<point) else { return nil }
        var attoseconds: Int64 = 0
        if point < range.upperBound {
            let digits = point + 1..<range.upperBound
            let kept = digits.prefix(18)
            guard let value = bytes.decimal(kept.lowerBound..<kept.upperBound),
                digits.allSatisfy({ (0x30...0x39).contains(bytes.u8($0)) })
            else { return nil }
            attoseconds = (kept.count..<18).reduce(value) { sum, _ in sum * 10 }
        }
        let time = Duration(secondsComponent: whole, attosecondsComponent: attoseconds)
        return isNegative ? .zero - time : time
    }

    /// Removes `Z`, `+HH:MM` or `+HHMM` from the end; returns seconds east of Greenwich, 0 without a zone.
    private static func takeZone(_ bytes: RawSpan, _ range: inout Range<Int>) -> Int64? {
        if let last = range.last, bytes.u8(last) | 0x20 == UInt8(ascii: "z") {
            range.removeLast()
            return 0
        }
        guard let sign = range.last(where: { bytes.u8($0) == UInt8(ascii: "+") || bytes.u8($0) == UInt8(ascii: "-") })
        else { return 0 }
        let digits = bytes.text(sign + 1..<range.upperBound)
        let number = digits.utf8.count == 5 ? digits.replacing(":", with: "") : digits
        guard number.utf8.count == 4, number.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let zone = Int64(number), zone / 100 < 24, zone % 100 < 60
        else { return nil }
        let isWest = bytes.u8(sign) == UInt8(ascii: "-")
        range = range.lowerBound..<sign
        return (isWest ? -1 : 1) * (zone / 100 * 3600 + zone % 100 * 60)
    }
}

/// Date and time of day in UTC, proleptic Gregorian, from seconds since 1970, also before 1970. The algorithms are
/// Howard Hinnant's `days_from_civil` and `civil_from_days`.
package struct CivilTime: Equatable {
    package var year: Int
    package var month: Int
    package var day: Int
    /// The time of day in seconds after midnight, 0–86,399.
    package var secondOfDay: Int

    package init(secondsSince1970 seconds: Int64) {
        let days = seconds >= 0 ? seconds / 86_400 : (seconds + 1) / 86_400 - 1
        secondOfDay = Int(seconds - days * 86_400)
        let shifted = days + 719_468
        let era = shifted >= 0 ? shifted / 146_097 : (shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = Int(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
        month = Int(shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9)
        year = Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0)
    }

    /// Days from 1970-01-01 to a date.
    package static func days(year: Int, month: Int, day: Int) -> Int64 {
        let shiftedYear = Int64(month <= 2 ? year - 1 : year)
        let era = shiftedYear >= 0 ? shiftedYear / 400 : (shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * Int64(month > 2 ? month - 3 : month + 9) + 2) / 5 + Int64(day) - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}

package enum TextEncoding {
    package static func digits(_ value: UInt64, _ width: Int, radix: Int = 16) -> String {
        let text = String(value, radix: radix, uppercase: true)
        return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }

    package static func date(_ time: Duration) -> String {
        let civil = CivilTime(secondsSince1970: time.wholeSeconds)
        return (civil.year < 0 ? "-" : "")
            + [(civil.year, 4), (civil.month, 2), (civil.day, 2)]
            .map { digits(UInt64($0.magnitude), $1, radix: 10) }.joined(separator: "-")
    }

    /// `22:21:15.450` in UTC. Without `digits`, three digits after the point, or as many as needed (6, 9).
    package static func clock(_ time: Duration, digits wanted: Int? = nil) -> String {
        let second = CivilTime(secondsSince1970: time.wholeSeconds).secondOfDay
        let nanosecond = digits(UInt64(time.nanosecond), 9, radix: 10)
        let count = wanted ?? [3, 6].first { nanosecond.dropFirst($0).allSatisfy { $0 == "0" } } ?? 9
        return [second / 3600, second / 60 % 60, second % 60]
            .map { digits(UInt64($0), 2, radix: 10) }.joined(separator: ":") + "." + nanosecond.prefix(count)
    }

    /// `2026-02-02T22:21:15.450Z`; seconds since 1970 outside the years that ISO 8601 writes with four digits.
    static func instant(_ time: Duration) -> String {
        (0..<253_402_300_800).contains(time.wholeSeconds) ? "\(date(time))T\(clock(time))Z" : epoch(time)
    }

    /// Seconds since 1970 with nine decimal digits, as in tshark's `frame.time_epoch`: `1612150079.092423000`.
    package static func epoch(_ time: Duration) -> String {
        let (whole, attoseconds) = time.components
        let sign = time < .zero && whole == 0 ? "-" : ""
        return sign + String(whole) + "." + digits(attoseconds.magnitude / 1_000_000_000, 9, radix: 10)
    }

    static func oneLine(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F && !(0x80...0x9F).contains($0.value) }
            ))
    }
}

extension Array where Element == UInt8 {
    mutating func append(_ text: String) { append(contentsOf: text.utf8) }

    /// Pairs of hex digits with a separator between them.
    mutating func append(hex bytes: RawSpan, separator: Character) {
        append(
            (0..<bytes.byteCount).map { TextEncoding.digits(UInt64(bytes.u8($0)), 2) }.joined(separator: "\(separator)")
        )
    }
}
