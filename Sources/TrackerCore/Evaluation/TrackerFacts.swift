/// Everything the core needs to know to decide: gathered by the store, the same for every surface.
package struct TrackerFacts: Sendable {
    /// The person's settings.
    package var settings: Settings
    /// The zone in force: `day.zone`, or the system's.
    package var zone: Zone
    /// The intake of the current day at least. A day that is missing has had nothing to drink, so a new day begins
    /// empty without anybody resetting it (K-A3).
    package var days: [LocalDay: DayIntake]
    /// What the reminder engine remembers; of another day, or `nil`, it is as new.
    package var engineDay: EngineDay?
    /// The active session, where there is one.
    package var waterline: WaterlineFacts?
    /// The radio's last word.
    package var connection: ConnectionStatus
    /// The bottle that was polled last; `nil`: none ever.
    package var bottle: BottleStanding?
    /// How the outbox stands.
    package var sync: SyncStatus
    /// What stands behind it.
    package var syncReport = SyncReport()
    /// `false`: no notification server answers; nothing is counted, other sinks go on.
    package var hasNotificationServer: Bool
    /// Notifications not yet opened (the badge).
    package var unread: Int
    /// So many of them are about a Waterline session.
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

    /// Facts of a few drinks: their days are folded here.
    package init(settings: Settings = Settings(), zone: Zone, drinks: [Drink], engineDay: EngineDay? = nil) {
        let byDay = Dictionary(grouping: drinks, by: \.localDay)
        self.init(
            settings: settings, zone: zone,
            days: Dictionary(uniqueKeysWithValues: byDay.map { ($0, DayIntake(day: $0, folding: $1)) }),
            engineDay: engineDay)
    }

    /// Days in the zone in force, from the boundary hour that is set.
    package var calendar: DayCalendar { DayCalendar(zone: zone, boundaryHour: settings.boundaryHour) }

    /// The intake of the day that runs at that instant.
    package func today(at now: Instant) -> DayIntake {
        let day = calendar.day(of: now)
        return days[day] ?? DayIntake(day: day)
    }
}
