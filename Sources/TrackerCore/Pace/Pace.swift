/// The pace model (tracker spec B1, B2): the expected intake at a time, and the deficit.
package enum Pace {
    package enum Mode: String, Hashable, Sendable, CaseIterable, Codable {
        /// The goal times the elapsed share of the window in seconds, rounded half up.
        case continuous
        /// As in the original app: whole hours since the start, rounded down.
        case wholeHours
    }

    /// The active hours of one date. The rest is quiet hours.
    package struct Window: Hashable, Sendable {
        /// The start, inclusive.
        package var start: Instant
        /// The end, exclusive.
        package var end: Instant

        package init(start: Instant, end: Instant) {
            self.start = start
            self.end = end
        }

        /// The window of the local date at `now`. The tracker's day differs at 01:00, when it is still yesterday.
        package init(now: Instant, calendar: DayCalendar, wake: TimeOfDay, sleep: TimeOfDay) {
            let date = calendar.date(of: now)
            start = calendar.instant(on: date, at: wake)
            end = calendar.instant(on: date, at: sleep)
        }

        package func contains(_ instant: Instant) -> Bool { instant >= start && instant < end }
    }

    /// The expected intake in ml by elapsed time, rounded half up: 0 before the window, the goal after it.
    package static func expected(goalMl: Int, now: Instant, window: Window) -> Int {
        guard now >= window.start else { return 0 }
        guard now < window.end else { return goalMl }
        let elapsed = Int128(now.milliseconds) - Int128(window.start.milliseconds)
        let length = Int128(window.end.milliseconds) - Int128(window.start.milliseconds)
        return multiplyDivide(max(0, goalMl), elapsed, by: length)
    }

    /// The original arithmetic: whole local hours since the start, rounded down. 07:00–22:00, 2500 ml: 166 at 08:00.
    package static func calculateExpectedIntake(
        goalMl: Int, at time: TimeOfDay, start: TimeOfDay = TimeOfDay(hour: 7), end: TimeOfDay = TimeOfDay(hour: 22)
    ) -> Int {
        guard time >= start, start < end else { return 0 }
        guard time < end else { return goalMl }
        let wholeHours = (time.minutes - start.minutes) / 60
        return Int(clamping: Int128(wholeHours * 60) * Int128(goalMl) / Int128(end.minutes - start.minutes))
    }

    /// The deficit in ml: at least 0, and 0 once the goal is met.
    package static func deficit(expectedMl: Int, totalMl: Int, goalMl: Int) -> Int {
        totalMl >= goalMl ? 0 : max(0, expectedMl.saturatingSubtract(totalMl))
    }
}

/// The level of the deficit: none, below the threshold (a percentage of the goal), or at least the threshold.
package enum Urgency: Int, Hashable, Comparable, Sendable, CaseIterable, Codable {
    case onTrack = 0
    case attention = 1
    case overdue = 2

    /// A deficit of at least `thresholdPercent` of the goal is overdue. The comparison is exact.
    package init(deficitMl: Int, goalMl: Int, thresholdPercent: Int = 20) {
        if deficitMl <= 0 {
            self = .onTrack
        } else {
            self = Int128(deficitMl) * 100 >= Int128(goalMl) * Int128(thresholdPercent) ? .overdue : .attention
        }
    }

    /// The name of the colour: blue, amber, red.
    package var colour: String {
        switch self {
        case .onTrack: "blue"
        case .attention: "amber"
        case .overdue: "red"
        }
    }

    package static func < (left: Urgency, right: Urgency) -> Bool { left.rawValue < right.rawValue }
}
