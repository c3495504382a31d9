/// A local time of day, 00:00–23:59.
package struct TimeOfDay: Hashable, Comparable, Sendable, LosslessStringConvertible {
    package let hour: Int
    package let minute: Int

    /// Returns `nil` outside 0–23 hours and 0–59 minutes.
    package init?(hour: Int, minute: Int) {
        guard (0...23).contains(hour), (0...59).contains(minute) else { return nil }
        self.hour = hour
        self.minute = minute
    }

    /// Parses `7:30`, `07:30`.
    package init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 2, (1...2).contains(parts[0].count), parts[1].count == 2,
            let hour = number(parts[0]), let minute = number(parts[1])
        else { return nil }
        self.init(hour: hour, minute: minute)
    }

    /// Creates a full hour. Other values are clamped to 0–23.
    package init(hour: Int) {
        self.hour = min(max(hour, 0), 23)
        minute = 0
    }

    /// Minutes after midnight, 0–1439.
    package var minutes: Int { hour * 60 + minute }

    package var description: String { "\(padded(hour, 2)):\(padded(minute, 2))" }

    package static func < (left: TimeOfDay, right: TimeOfDay) -> Bool { left.minutes < right.minutes }
}
