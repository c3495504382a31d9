/// The input of a decision, collected from the store.
package struct TrackerFacts: Sendable {
    package var settings: Settings
    /// The current time zone: `day.zone`, or the system's.
    package var zone: Zone
    /// The intake by day, at least of the current day. A missing day has no drinks, so a new day needs no reset (K-A3).
    package var days: [LocalDay: DayIntake]
    /// The reminder engine's state. The state of another day is ignored.
    package var engineDay: EngineDay?
    /// The facts of the session; `nil` without an active session.
    package var waterline: WaterlineFacts?
    /// The problem of the last poll; `nil` after a successful one.
    package var connectionProblem: ConnectionProblem?
    package var bottle: BottleCondition?
    package var sync = SyncStatus.idle
    package var syncReport = SyncReport()
    /// `false` if no notification server is available; other channels are not affected.
    package var hasNotificationServer = true
    package var unread = 0
    /// The number of unread notifications about a Waterline session.
    package var unreadOfSessions = 0
    /// The reason why a service holds back hydration notifications; `nil` if it does not.
    package var reminderHold: ReminderHold?
    /// The end of the user's pause. If it is `nil` or past, the hydration reminders are not paused.
    package var snoozedUntil: Instant?

    package init(
        settings: Settings = Settings(), zone: Zone, days: [LocalDay: DayIntake] = [:], engineDay: EngineDay? = nil,
        waterline: WaterlineFacts? = nil
    ) {
        self.settings = settings
        self.zone = zone
        self.days = days
        self.engineDay = engineDay
        self.waterline = waterline
    }

    /// Uses the current time zone and the configured boundary hour.
    package var calendar: DayCalendar { DayCalendar(zone: zone, boundaryHour: settings.boundaryHour) }

    package func today(at now: Instant) -> DayIntake {
        let day = calendar.day(of: now)
        return days[day] ?? DayIntake(day: day)
    }
}
