/// The tracker's days, which start at the boundary hour of local time (tracker spec T).
package struct DayCalendar: Hashable, Sendable {
    package var zone: Zone
    /// The boundary hour, 0–6. With 4, 03:59 belongs to the previous day.
    package var boundaryHour: Int

    package init(zone: Zone, boundaryHour: Int = 4) {
        self.zone = zone
        self.boundaryHour = min(max(boundaryHour, 0), 6)
    }

    /// The day of an instant: the local date, or the previous date before the boundary hour. Subtracting hours from the
    /// instant would be wrong on days of 23 or 25 hours.
    package func day(of instant: Instant) -> LocalDay {
        let seconds = instant.wholeSeconds.saturatingAdd(Int64(zone.offsetSeconds(at: instant)))
        let days = floorDivide(seconds, 86_400)
        return LocalDay(daysSince1970: Int(days) - (seconds - days * 86_400 < Int64(boundaryHour) * 3600 ? 1 : 0))
    }

    /// The local date, independent of the boundary: the day of schedules (K-B10).
    package func date(of instant: Instant) -> LocalDay {
        LocalDay(
            daysSince1970: Int(
                floorDivide(instant.wholeSeconds.saturatingAdd(Int64(zone.offsetSeconds(at: instant))), 86_400)))
    }

    package func start(of day: LocalDay) -> Instant { instant(on: day, at: TimeOfDay(hour: boundaryHour)) }

    /// The first instant at which local time reaches `time` on that date: the first of two, or the clock change that
    /// skips it.
    package func instant(on day: LocalDay, at time: TimeOfDay) -> Instant {
        let wall = WallTime(
            year: day.year, month: day.month, day: day.day, hour: time.hour, minute: time.minute, second: 0)
        switch zone.moments(of: wall) {
        case .once(let instant), .repeated(let instant, _), .skipped(_, let instant): return instant
        case nil: return Instant(seconds: Int64(day.daysSince1970) * 86_400 + Int64(time.minutes * 60))
        }
    }

    /// All instants with that local time: two if the clock is set back. A skipped time is moved forward by the gap.
    package func moments(on day: LocalDay, at time: TimeOfDay) -> [Instant] {
        let wall = WallTime(
            year: day.year, month: day.month, day: day.day, hour: time.hour, minute: time.minute, second: 0)
        return switch zone.moments(of: wall) {
        case .once(let instant), .skipped(let instant, _): [instant]
        case .repeated(let first, let second): [first, second]
        case nil: [instant(on: day, at: time)]
        }
    }

    package func timeOfDay(at instant: Instant) -> TimeOfDay {
        let wall = zone.wall(at: instant)
        return TimeOfDay(hour: wall.hour, minute: wall.minute) ?? TimeOfDay(hour: 0)
    }
}
