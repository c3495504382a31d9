import TrackerCore

/// Times as a person types them.
package enum Moment {
    /// An instant with offset, a wall time in the zone (`2026-06-15T14:00`, with a space too), or `14:00`: the latest
    /// such time that is not after `now`.
    /// - Throws: `WrongInput`, `UnsupportedInstant`.
    package static func parse(_ text: String, now: Instant?, zone: Zone) throws -> Instant {
        if let instant = Instant(iso: text) { return try instant.checked() }
        let wall = text.utf8.count == 16 ? text + ":00" : text
        if let wall = WallTime(wall), let moments = zone.moments(of: wall) { return try moments.first.checked() }
        if let now, let time = TimeOfDay(text) {
            let calendar = DayCalendar(zone: zone, boundaryHour: 0)
            let today = calendar.day(of: now)
            let instant = calendar.instant(on: today, at: time)
            return instant <= now ? instant : calendar.instant(on: today.adding(days: -1), at: time)
        }
        throw WrongInput("notATime", "\"\(text)\" is not a time.", values: ["given": text])
    }
}

extension WallMoments {
    /// The instant meant by a wall time; the earlier of two.
    fileprivate var first: Instant {
        switch self {
        case .once(let instant), .repeated(let instant, _), .skipped(let instant, _): instant
        }
    }
}
