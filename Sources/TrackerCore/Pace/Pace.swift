/// The pace model (tracker spec B1, B2): how much should have been drunk by now, and how far behind that is.
package enum Pace {
    /// How time is counted.
    package enum Mode: String, Hashable, Sendable, CaseIterable, Codable {
        /// Goal times the elapsed share of the window in real seconds, rounded half up.
        case continuous
        /// The founding code: whole hours since the start, rounded down.
        case wholeHours
    }

    /// The active hours of one date, as instants. The complement is quiet hours.
    package struct Window: Hashable, Sendable {
        /// When it begins, itself included.
        package var start: Instant
        /// When it ends, itself not included.
        package var end: Instant

        package init(start: Instant, end: Instant) {
            self.start = start
            self.end = end
        }

        /// The window of the date on the wall at `now` (not of the tracker's day: at 01:00 the evening's day still
        /// runs, and the pace already is that of the coming morning).
        package init(now: Instant, calendar: DayCalendar, wake: TimeOfDay, sleep: TimeOfDay) {
            let date = calendar.date(of: now)
            start = calendar.instant(on: date, at: wake)
            end = calendar.instant(on: date, at: sleep)
        }

        /// Start inclusive, end exclusive.
        package func contains(_ instant: Instant) -> Bool { instant >= start && instant < end }
    }

    /// Expected intake in ml by real time elapsed in the window, rounded half up: 0 before it, the goal after it.
    package static func expected(goalMl: Int, now: Instant, window: Window) -> Int {
        guard now >= window.start else { return 0 }
        guard now < window.end else { return goalMl }
        let elapsed = Int128(now.milliseconds) - Int128(window.start.milliseconds)
        let length = Int128(window.end.milliseconds) - Int128(window.start.milliseconds)
        return multiplyDivide(max(0, goalMl), elapsed, by: length)
    }

    /// The founding arithmetic: whole hours of the wall clock since the start, rounded down.
    /// With 07:00–22:00 and 2500 ml: 08:00 is 166, 14:59 is 1166.
    package static func calculateExpectedIntake(
        goalMl: Int, at time: TimeOfDay, start: TimeOfDay = TimeOfDay(hour: 7), end: TimeOfDay = TimeOfDay(hour: 22)
    ) -> Int {
        guard time >= start, start < end else { return 0 }
        guard time < end else { return goalMl }
        let wholeHours = (time.minutes - start.minutes) / 60
        return Int(clamping: Int128(wholeHours * 60) * Int128(goalMl) / Int128(end.minutes - start.minutes))
    }

    /// Expected minus drunk: negative when ahead.
    package static func balance(expectedMl: Int, totalMl: Int) -> Int { expectedMl.saturatingSubtract(totalMl) }

    /// Ml behind: never negative, 0 once the goal is met.
    package static func deficit(expectedMl: Int, totalMl: Int, goalMl: Int) -> Int {
        totalMl >= goalMl ? 0 : max(0, expectedMl.saturatingSubtract(totalMl))
    }
}

/// How far behind pace: on track, some, or at least the threshold's share of the goal.
package enum Urgency: Int, Hashable, Comparable, Sendable, CaseIterable, Codable {
    case onTrack = 0
    case attention = 1
    case overdue = 2

    /// Behind by at least `thresholdPercent` of the goal is overdue; the comparison is exact, nothing is truncated.
    package init(deficitMl: Int, goalMl: Int, thresholdPercent: Int = 20) {
        if deficitMl <= 0 {
            self = .onTrack
        } else {
            self = Int128(deficitMl) * 100 >= Int128(goalMl) * Int128(thresholdPercent) ? .overdue : .attention
        }
    }

    /// The colour's name: blue, amber, red.
    package var colour: String {
        switch self {
        case .onTrack: "blue"
        case .attention: "amber"
        case .overdue: "red"
        }
    }

    package static func < (left: Urgency, right: Urgency) -> Bool { left.rawValue < right.rawValue }
}
