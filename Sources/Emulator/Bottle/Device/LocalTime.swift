import BottleProtocol

/// Local time in milliseconds since 2000-01-01T00:00:00, without a time zone: the unit of the bottle's clock.
package struct LocalTime: Hashable, Comparable, Sendable, Codable {
    package var milliseconds: Int64
    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    package static func < (left: LocalTime, right: LocalTime) -> Bool { left.milliseconds < right.milliseconds }

    package var day: Int64 { (milliseconds - (milliseconds % 86_400_000 + 86_400_000) % 86_400_000) / 86_400_000 }

    /// Converts an existing date and time in 2000–2255; otherwise `nil`.
    package init?(_ clock: BottleClock) {
        guard clock.isPossible else { return nil }
        let days = Self.days(year: clock.year, month: Int(clock.month), day: Int(clock.day))
        let seconds = Int64(clock.hour) * 3600 + Int64(clock.minute) * 60 + Int64(clock.second)
        self.init(milliseconds: (Int64(days) * 86_400 + seconds) * 1000)
    }

    /// The time in the bottle's format. Years outside 2000–2255 wrap like one byte.
    package var clock: BottleClock {
        let date = Self.date(day: Int(day))
        let second = Int(milliseconds - day * 86_400_000) / 1000
        return BottleClock(
            yearByte: UInt8(truncatingIfNeeded: date.year - 2000), month: UInt8(truncatingIfNeeded: date.month),
            day: UInt8(truncatingIfNeeded: date.day),
            hour: UInt8(truncatingIfNeeded: second / 3600), minute: UInt8(truncatingIfNeeded: second / 60 % 60),
            second: UInt8(truncatingIfNeeded: second % 60))
    }

    /// Days since 2000-01-01 of a Gregorian date. Years start in March, so that the leap day is the last day.
    static func days(year: Int, month: Int, day: Int) -> Int {
        let shifted = month > 2 ? year : year - 1
        let sinceMarch = (month + 9) % 12
        return 365 * shifted + floor(shifted, 4) - floor(shifted, 100) + floor(shifted, 400) + (153 * sinceMarch + 2)
            / 5 + day - 1 - 730_425
    }

    /// The Gregorian date of a day number: the inverse of `days`.
    static func date(day: Int) -> (year: Int, month: Int, day: Int) {
        let z = day + 730_425
        let era = floor(z, 146_097)
        let dayOfEra = z - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let sinceMarch = (5 * dayOfYear + 2) / 153
        let month = sinceMarch < 10 ? sinceMarch + 3 : sinceMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * sinceMarch + 2) / 5 + 1)
    }

    private static func floor(_ value: Int, _ divisor: Int) -> Int {
        value >= 0 ? value / divisor : (value - divisor + 1) / divisor
    }
}
