package import BottleProtocol
import Glibc

/// Local time in milliseconds since 2000-01-01T00:00:00, without a time zone: the unit of the bottle's clock.
package struct LocalTime: Hashable, Comparable, Sendable, Codable {
    package var milliseconds: Int64
    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    package static func < (left: LocalTime, right: LocalTime) -> Bool { left.milliseconds < right.milliseconds }

    package var day: Int64 { (milliseconds - (milliseconds % 86_400_000 + 86_400_000) % 86_400_000) / 86_400_000 }

    /// Seconds from 1970 to 2000.
    private static let epoch = 946_684_800

    /// Converts the time of a bottle's clock. Returns `nil` if it is not an existing date in 2000–2255.
    package init?(_ clock: BottleClock) {
        guard clock.isPossible else { return nil }
        var date = tm()
        (date.tm_year, date.tm_mon, date.tm_mday) = (Int32(clock.year - 1900), Int32(clock.month) - 1, Int32(clock.day))
        (date.tm_hour, date.tm_min, date.tm_sec) = (Int32(clock.hour), Int32(clock.minute), Int32(clock.second))
        self.init(milliseconds: Int64(timegm(&date) - Self.epoch) * 1000)
    }

    /// The time in the bottle's format. Years outside 2000–2255 wrap like one byte.
    package var clock: BottleClock {
        var seconds = Int(day) * 86_400 + Int(milliseconds - day * 86_400_000) / 1000 + Self.epoch
        var date = tm()
        gmtime_r(&seconds, &date)
        return BottleClock(
            yearByte: UInt8(truncatingIfNeeded: date.tm_year - 100), month: UInt8(truncatingIfNeeded: date.tm_mon + 1),
            day: UInt8(truncatingIfNeeded: date.tm_mday), hour: UInt8(truncatingIfNeeded: date.tm_hour),
            minute: UInt8(truncatingIfNeeded: date.tm_min), second: UInt8(truncatingIfNeeded: date.tm_sec))
    }
}
