/// A time as text captures write it.
enum TextTime: Hashable {
    /// `-`: none is known.
    case none
    /// `12.345`: seconds after the start that the head names (1970 without one).
    case relative(Duration)
    /// `2026-02-02T22:21:15.5Z`, `…+01:00`; without a zone it is taken as UTC.
    case absolute(Duration)
    /// `22:21:15.5`: time of a day that is known from elsewhere.
    case timeOfDay(Duration)

    /// `nil` where this is no time.
    init?(_ bytes: RawSpan, _ range: Range<Int>) {
        if range.count == 1, bytes.u8(range.lowerBound) == UInt8(ascii: "-") {
            self = .none
            return
        }
        if range.count > 10, bytes.u8(range.lowerBound + 4) == UInt8(ascii: "-"),
            let date = Self.date(bytes, range.lowerBound..<range.lowerBound + 10)
        {
            let separator = bytes.u8(range.lowerBound + 10) | 0x20
            guard separator == UInt8(ascii: "t") || separator == UInt8(ascii: "_") | 0x20 else { return nil }
            var clock = range.lowerBound + 11..<range.upperBound
            guard let zone = Self.takeZone(bytes, &clock), let time = Self.clock(bytes, clock) else { return nil }
            self = .absolute(date + time - .seconds(zone))
            return
        }
        if range.count >= 7, let time = Self.clock(bytes, range) {
            self = .timeOfDay(time)
            return
        }
        guard let seconds = Self.seconds(bytes, range) else { return nil }
        self = .relative(seconds)
    }

    /// `YYYY-MM-DD` as time since 1970.
    static func date(_ bytes: RawSpan, _ range: Range<Int>) -> Duration? {
        guard range.count == 10, bytes.u8(range.lowerBound + 4) == UInt8(ascii: "-"),
            bytes.u8(range.lowerBound + 7) == UInt8(ascii: "-"),
            let year = bytes.decimal(range.lowerBound..<range.lowerBound + 4),
            let month = bytes.decimal(range.lowerBound + 5..<range.lowerBound + 7),
            let day = bytes.decimal(range.lowerBound + 8..<range.lowerBound + 10),
            (1...12).contains(month), (1...31).contains(day)
        else { return nil }
        return .seconds(CivilDate.days(year: year, month: month, day: day) * 86_400)
    }

    /// `HH:MM:SS` with any number of digits after a point or comma.
    static func clock(_ bytes: RawSpan, _ range: Range<Int>) -> Duration? {
        guard range.count >= 7 else { return nil }
        let colon = UInt8(ascii: ":")
        let hourLength = bytes.u8(range.lowerBound + 1) == colon ? 1 : 2
        let minutes = range.lowerBound + hourLength + 1
        guard range.upperBound - minutes >= 5, bytes.u8(minutes - 1) == colon, bytes.u8(minutes + 2) == colon,
            let hour = bytes.decimal(range.lowerBound..<range.lowerBound + hourLength),
            let minute = bytes.decimal(minutes..<minutes + 2),
            let second = seconds(bytes, minutes + 3..<range.upperBound),
            hour < 24, minute < 60, second < .seconds(61), second >= .zero
        else { return nil }
        return .seconds(hour * 3600 + minute * 60) + second
    }

    /// Decimal seconds, with a sign; digits beyond attoseconds are cut.
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

    /// Cuts `Z`, `+HH:MM` or `+HHMM` off the end; seconds east of Greenwich, 0 without a zone.
    private static func takeZone(_ bytes: RawSpan, _ range: inout Range<Int>) -> Int64? {
        if let last = range.last, bytes.u8(last) | 0x20 == UInt8(ascii: "z") {
            range.removeLast()
            return 0
        }
        guard let sign = range.last(where: { bytes.u8($0) == UInt8(ascii: "+") || bytes.u8($0) == UInt8(ascii: "-") })
        else { return 0 }
        let zone = sign + 1..<range.upperBound
        let minuteStart =
            zone.count == 5 && bytes.u8(zone.lowerBound + 2) == UInt8(ascii: ":")
            ? zone.lowerBound + 3 : zone.lowerBound + 2
        guard zone.count == 5 || zone.count == 4, zone.upperBound - minuteStart == 2,
            let hours = bytes.decimal(zone.lowerBound..<zone.lowerBound + 2),
            let minutes = bytes.decimal(minuteStart..<zone.upperBound),
            hours < 24, minutes < 60
        else { return nil }
        let seconds = hours * 3600 + minutes * 60
        let isWest = bytes.u8(sign) == UInt8(ascii: "-")
        range = range.lowerBound..<sign
        return isWest ? -seconds : seconds
    }
}

/// Dates of the proleptic Gregorian calendar and days since 1970 (the algorithms are Howard Hinnant's
/// `days_from_civil`).
enum CivilDate {
    static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    static func date(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}
