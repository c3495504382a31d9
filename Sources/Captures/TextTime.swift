import Bluetooth

/// A time as written in a text capture or on the command line.
package enum TextTime: Hashable {
    /// `-`: the time is unknown.
    case none
    /// `12.345`: seconds after the start time in the header, or else after 1970.
    case relative(Duration)
    /// `2026-02-02T22:21:15.5Z`, `…+01:00`; UTC without a zone.
    case absolute(Duration)
    /// `22:21:15.5`: a time of day, on a day that other lines determine.
    case timeOfDay(Duration)

    /// Parses a time, also `22:21`, `2026-02-02` and `2026-02-02 22:21`. `nil` if the text is not a time.
    package init?(_ text: String) {
        let text = Array(text.utf8)[...]
        if let date = Self.date(text) {
            self = .absolute(date)
        } else if let time = Self.clock(text, allowsMinutes: true) {
            self = .timeOfDay(time)
        } else {
            self.init(text, allowsMinutes: true)
        }
    }

    init?(_ text: Text, allowsMinutes: Bool = false) {
        if text.elementsEqual("-".utf8) {
            self = .none
        } else if text.count > 10, let date = Self.date(text.prefix(10)) {
            var clock = text.dropFirst(10)
            guard let separator = clock.popFirst(), "tT_ ".utf8.contains(separator),
                let zone = Self.takeZone(&clock), let time = Self.clock(clock, allowsMinutes: allowsMinutes)
            else { return nil }
            self = .absolute(date + time - .seconds(zone))
        } else if let time = Self.clock(text) {
            self = .timeOfDay(time)
        } else {
            guard let seconds = Self.seconds(text) else { return nil }
            self = .relative(seconds)
        }
    }

    /// The time of a packet in the output of tshark: seconds since 1970, or (JSON of tshark 4.6) a date and time.
    static func epoch(_ text: Text) -> Duration? {
        switch TextTime(text) {
        case .relative(let time), .absolute(let time): time
        default: nil
        }
    }

    /// `YYYY-MM-DD` as time since 1970.
    static func date(_ text: Text) -> Duration? {
        guard text.count == 10 else { return nil }
        let parts = text.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.map(\.count) == [4, 2, 2], let year = parts[0].decimal, let month = parts[1].decimal,
            let day = parts[2].decimal, (1...12).contains(month)
        else { return nil }
        let seconds = CivilTime.days(year: Int(year), month: Int(month), day: Int(day)) * 86_400
        return CivilTime(secondsSince1970: seconds).day == day ? .seconds(seconds) : nil
    }

    /// `HH:MM:SS` with any number of digits after a point or comma.
    static func clock(_ text: Text, allowsMinutes: Bool = false) -> Duration? {
        let parts = text.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[0].count <= 2, parts[1].count == 2, let hour = parts[0].decimal,
            let minute = parts[1].decimal, hour < 24, minute < 60
        else { return nil }
        let start = Duration.seconds(hour * 3600 + minute * 60)
        guard parts.count == 3 else { return allowsMinutes ? start : nil }
        guard parts[2].count >= 2, let second = seconds(parts[2]), second < .seconds(61), second >= .zero else {
            return nil
        }
        return start + second
    }

    /// Parses decimal seconds with a sign; digits beyond attoseconds are dropped.
    static func seconds(_ text: Text) -> Duration? {
        var digits = text
        let isNegative = digits.removePrefix("-")
        if !isNegative { _ = digits.removePrefix("+") }
        let parts = digits.split(maxSplits: 1, omittingEmptySubsequences: false) { ".,".utf8.contains($0) }
        guard let whole = parts[0].decimal else { return nil }
        var attoseconds: Int64 = 0
        if parts.count == 2 {
            let kept = parts[1].prefix(18)
            guard let value = kept.decimal, parts[1].allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            attoseconds = (kept.count..<18).reduce(value) { sum, _ in sum * 10 }
        }
        let time = Duration(secondsComponent: whole, attosecondsComponent: attoseconds)
        return isNegative ? .zero - time : time
    }

    /// Removes `Z`, `+HH:MM` or `+HHMM` from the end; returns seconds east of Greenwich, 0 without a zone.
    private static func takeZone(_ text: inout Text) -> Int64? {
        if text.hasSuffix("Z") || text.hasSuffix("z") {
            text.removeLast()
            return 0
        }
        guard let sign = text.lastIndex(where: { "+-".utf8.contains($0) }) else { return 0 }
        let digits = text[(sign + 1)...]
        let number = digits.count == 5 ? digits.filter { $0 != UInt8(ascii: ":") }[...] : digits
        guard number.count == 4, let zone = number.decimal, zone / 100 < 24, zone % 100 < 60 else { return nil }
        let isWest = text[sign] == UInt8(ascii: "-")
        text = text[..<sign]
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
        let (quotient, remainder) = seconds.quotientAndRemainder(dividingBy: 86_400)
        let days = remainder < 0 ? quotient - 1 : quotient
        secondOfDay = Int(remainder < 0 ? remainder + 86_400 : remainder)
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
    /// A decimal number with leading zeros.
    package static func digits(_ value: UInt64, _ width: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }

    package static func date(_ time: Duration) -> String {
        let civil = CivilTime(secondsSince1970: time.wholeSeconds)
        return (civil.year < 0 ? "-" : "")
            + [(civil.year, 4), (civil.month, 2), (civil.day, 2)]
            .map { digits(UInt64($0.magnitude), $1) }.joined(separator: "-")
    }

    /// `22:21:15.450` in UTC. Without `digits`, three digits after the point, or as many as needed (6, 9).
    package static func clock(_ time: Duration, digits wanted: Int? = nil) -> String {
        let second = CivilTime(secondsSince1970: time.wholeSeconds).secondOfDay
        let nanosecond = digits(UInt64(time.nanosecond), 9)
        let count = wanted ?? [3, 6].first { nanosecond.dropFirst($0).allSatisfy { $0 == "0" } } ?? 9
        return [second / 3600, second / 60 % 60, second % 60]
            .map { digits(UInt64($0), 2) }.joined(separator: ":") + "." + nanosecond.prefix(count)
    }

    /// `2026-02-02T22:21:15.450Z`; seconds since 1970 outside the years that ISO 8601 writes with four digits.
    static func instant(_ time: Duration) -> String {
        (0..<253_402_300_800).contains(time.wholeSeconds) ? "\(date(time))T\(clock(time))Z" : epoch(time)
    }

    /// Seconds since 1970 with nine decimal digits, as in tshark's `frame.time_epoch`: `1612150079.092423000`.
    package static func epoch(_ time: Duration) -> String {
        let (whole, attoseconds) = time.components
        let sign = time < .zero && whole == 0 ? "-" : ""
        return sign + String(whole) + "." + digits(attoseconds.magnitude / 1_000_000_000, 9)
    }

    /// The text without control characters.
    package static func oneLine(_ text: String) -> String {
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
        append((0..<bytes.byteCount).map { bytes.u8($0).hexDigits }.joined(separator: "\(separator)"))
    }
}
