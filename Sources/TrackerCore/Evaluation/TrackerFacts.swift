/// The input of a decision, collected from the store.
package struct TrackerFacts: Sendable {
    package var settings: Settings
    /// The current time zone: `day.zone`, or the system's.
    package var zone: Zone
    /// The intake of the current day at least. A missing day has no drinks, so that a new day needs no reset (K-A3).
    package var days: [LocalDay: DayIntake]
    /// The reminder engine's state; that of another day is ignored.
    package var engineDay: EngineDay?
    /// The active session, if there is one.
    package var waterline: WaterlineFacts?
    /// The last state of the connection.
    package var connection: ConnectionStatus
    /// The bottle that was polled last, or `nil`.
    package var bottle: BottleStanding?
    /// The state of the outbox.
    package var sync: SyncStatus
    /// The details of the outbox.
    package var syncReport = SyncReport()
    /// `false` if no notification server is available; other channels are not affected.
    package var hasNotificationServer: Bool
    /// The number of unread notifications.
    package var unread: Int
    /// The number of those about a Waterline session.
    package var unreadOfSessions = 0
    /// Why a service holds back hydration notifications; `nil`: it does not.
    package var hold: ReminderHold?
    /// The end of the pause that the user asked for; `nil` or past: the hydration reminders are not paused.
    package var snoozedUntil: Instant?

    package init(
        settings: Settings = Settings(), zone: Zone, days: [LocalDay: DayIntake] = [:], engineDay: EngineDay? = nil,
        waterline: WaterlineFacts? = nil, connection: ConnectionStatus = ConnectionStatus(), sync: SyncStatus = .idle,
        hasNotificationServer: Bool = true, unread: Int = 0
    ) {
        self.settings = settings
        self.zone = zone
        self.days = days
        self.engineDay = engineDay
        self.waterline = waterline
        self.connection = connection
        self.sync = sync
        self.hasNotificationServer = hasNotificationServer
        self.unread = unread
    }

    /// Facts with a list of drinks, which are grouped by day here.
    package init(settings: Settings = Settings(), zone: Zone, drinks: [Drink], engineDay: EngineDay? = nil) {
        let byDay = Dictionary(grouping: drinks, by: \.localDay)
        self.init(
            settings: settings, zone: zone,
            days: Dictionary(uniqueKeysWithValues: byDay.map { ($0, DayIntake(day: $0, folding: $1)) }),
            engineDay: engineDay)
    }

    /// Days in the current time zone and with the configured boundary hour.
    package var calendar: DayCalendar { DayCalendar(zone: zone, boundaryHour: settings.boundaryHour) }

    /// The intake of the current day at that instant.
    package func today(at now: Instant) -> DayIntake {
        let day = calendar.day(of: now)
        return days[day] ?? DayIntake(day: day)
    }
}
