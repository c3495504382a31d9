/// Days as the tracker counts them: they begin at the boundary hour on the wall clock of a zone (tracker spec T).
package struct DayCalendar: Hashable, Sendable {
    /// Whose wall clock days follow.
    package var zone: Zone
    /// 0–6. 4 means that 03:59 still belongs to the evening before.
    package var boundaryHour: Int

    /// Days of a zone that begin at that hour, 0–6.
    package init(zone: Zone, boundaryHour: Int = 4) {
        self.zone = zone
        self.boundaryHour = min(max(boundaryHour, 0), 6)
    }

    /// The day an instant belongs to: the wall clock's date, or the date before while the hour is below the boundary.
    /// Hours are never subtracted from the instant: days of 23 and 25 hours would come out wrong.
    package func day(of instant: Instant) -> LocalDay {
        let seconds = instant.wholeSeconds.saturatingAdd(Int64(zone.offsetSeconds(at: instant)))
        let days = floorDivide(seconds, 86_400)
        return LocalDay(daysSince1970: Int(days) - (seconds - days * 86_400 < Int64(boundaryHour) * 3600 ? 1 : 0))
    }

    /// The date on the wall clock, whatever the boundary: the day of schedules (K-B10).
    package func date(of instant: Instant) -> LocalDay {
        LocalDay(
            daysSince1970: Int(
                floorDivide(instant.wholeSeconds.saturatingAdd(Int64(zone.offsetSeconds(at: instant))), 86_400)))
    }

    /// The first instant of a day.
    package func start(of day: LocalDay) -> Instant { instant(on: day, at: TimeOfDay(hour: boundaryHour)) }

    /// The day's real length in seconds: 82,800, 86,400, 90,000 or whatever the zone makes of it.
    package func length(of day: LocalDay) -> Double { start(of: day).seconds(to: start(of: day.adding(days: 1))) }

    /// The first instant at which the wall clock of that date has reached a time: the earlier one where clocks
    /// go back over it, the moment of the change where they skip it.
    package func instant(on day: LocalDay, at time: TimeOfDay) -> Instant {
        let wall = WallTime(
            year: day.year, month: day.month, day: day.day, hour: time.hour, minute: time.minute, second: 0)
        switch zone.moments(of: wall) {
        case .once(let instant), .repeated(let instant, _), .skipped(_, let instant): return instant
        case nil: return Instant(seconds: Int64(day.daysSince1970) * 86_400 + Int64(time.minutes * 60))
        }
    }

    /// Every instant at which the wall clock of that date says a time: two where clocks go back over it; where they
    /// skip it, that time after the gap's length.
    package func moments(on day: LocalDay, at time: TimeOfDay) -> [Instant] {
        let wall = WallTime(
            year: day.year, month: day.month, day: day.day, hour: time.hour, minute: time.minute, second: 0)
        return switch zone.moments(of: wall) {
        case .once(let instant), .skipped(let instant, _): [instant]
        case .repeated(let first, let second): [first, second]
        case nil: [instant(on: day, at: time)]
        }
    }

    /// The hours and minutes on the wall.
    package func timeOfDay(at instant: Instant) -> TimeOfDay {
        let wall = zone.wall(at: instant)
        return TimeOfDay(hour: wall.hour, minute: wall.minute) ?? TimeOfDay(hour: 0)
    }
}
