/// A clock on the wall: a date and a time of day without a zone. Not validated; see `isPossible`.
package struct WallTime: Hashable, Sendable, Codable {
    /// With all its digits.
    package var year: Int
    /// 1–12.
    package var month: Int
    /// 1–31.
    package var day: Int
    /// 0–23 where the time is possible.
    package var hour: Int
    /// 0–59 where the time is possible.
    package var minute: Int
    /// 0–59 where the time is possible.
    package var second: Int

    package init(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
    }
}
