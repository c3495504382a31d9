/// A date and a time of day without a time zone. Not validated; see `isPossible`.
package struct WallTime: Hashable, Sendable, Codable {
    /// The full year.
    package var year: Int
    /// 1–12.
    package var month: Int
    /// 1–31.
    package var day: Int
    /// 0–23 if valid.
    package var hour: Int
    /// 0–59 if valid.
    package var minute: Int
    /// 0–59 if valid.
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
