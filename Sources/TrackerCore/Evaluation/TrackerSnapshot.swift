/// The state of the day for all interfaces. The JSON has the fields of system B's payload (B7) and of system A's (A12),
/// and the session under `waterline`.
package struct TrackerSnapshot: Hashable, Sendable, Encodable {
    package var pace: PaceSnapshot
    package var companion: CompanionSnapshot
    package var nextDrink: NextDrink
    /// The IANA id of the time zone.
    package var zone: String
    /// The label of the ring (K-A7).
    package var glasses: GlassLabel
    package var drinkCount: Int
    package var remindersSent: Int
    /// Whether the time is outside the active hours.
    package var isQuiet: Bool
    /// The session; `nil` without an active session.
    package var waterline: WaterlineSnapshot?
    package var connection: ConnectionStatus
    package var bottle: BottleCondition?
    package var sync: SyncStatus
    package var syncReport: SyncReport
    package var cupMl: Int
    package var quickAddMl: [Int]
    package var hasNotificationServer: Bool
    /// The end of the reminders' pause, while it lasts.
    package var snoozedUntil: Instant?
    package var unread: Int
    /// The number of unread notifications about a session. It is not in the payload.
    var unreadOfSessions: Int
    /// The greeting by the time of day: `Good morning!`.
    package var greeting: String
    /// The relative time of today's last drink, or `nil`.
    package var lastDrinkAge: String?
    /// The unit of texts; numbers are in millilitres.
    package var units: AmountUnits
    /// The total and the goal in litres or ounces: `1.2L / 2.5L`.
    package var litresText: String
    /// The total and the goal in the configured unit: `1,250 ml / 2,500 ml`.
    package var amountText: String
    /// The text of the deficit (`StatusText.long`).
    package var behindText: String
    /// The height of the second fill, expected / goal; `nil` while it is hidden (B6).
    package var targetProgress: Double?

    init(
        now: Instant, facts: TrackerFacts, intake: DayIntake, pace: PaceSnapshot, nextDrink: NextDrink,
        engineDay: EngineDay,
        waterline: WaterlineSnapshot?
    ) {
        let (settings, calendar) = (facts.settings, facts.calendar)
        self.pace = pace
        self.nextDrink = nextDrink
        companion = CompanionSnapshot(now: now, intake: intake, settings: settings, nextDrink: nextDrink)
        zone = facts.zone.id
        glasses = GlassLabel(totalMl: intake.totalMl, goalMl: pace.dailyGoalMl, glassMl: settings.glassMl)
        drinkCount = intake.count
        remindersSent = engineDay.remindersSent
        isQuiet = !Pace.Window(now: now, calendar: calendar, wake: settings.wake, sleep: settings.sleep).contains(now)
        self.waterline = waterline
        connection = facts.connection
        bottle = facts.bottle
        sync = facts.sync
        syncReport = facts.syncReport
        (cupMl, quickAddMl) = (settings.cupMl, settings.quickAddMl)
        hasNotificationServer = facts.hasNotificationServer
        snoozedUntil = facts.snoozedUntil.flatMap { $0 > now ? $0 : nil }
        (unread, unreadOfSessions) = (facts.unread, min(facts.unread, facts.unreadOfSessions))
        greeting = Greeting.text(at: calendar.timeOfDay(at: now))
        lastDrinkAge = intake.lastDrink.map { RelativeAge.text(from: $0, to: now) }
        units = settings.amountUnits
        litresText = "\(units.short(pace.dailyTotalMl)) / \(units.short(pace.dailyGoalMl))"
        amountText = "\(units.text(pace.dailyTotalMl)) / \(units.text(pace.dailyGoalMl))"
        behindText = StatusText.long(
            deficitMl: pace.deficitMl, totalMl: pace.dailyTotalMl, goalMl: pace.dailyGoalMl, in: units)
        targetProgress =
            StatusText.isBehind(pace.deficitMl) ? min(1, Double(pace.expectedMl) / Double(pace.dailyGoalMl)) : nil
    }

    /// The snapshot for interfaces without Waterline: without the session and without numbers that reveal it, such as
    /// pending sync changes and unread notifications.
    package var withoutWaterline: TrackerSnapshot {
        var shared = self
        shared.waterline = nil
        if case .pending = sync { shared.sync = .idle }
        shared.syncReport.waiting = 0
        shared.unread = unread - unreadOfSessions
        return shared
    }

    /// Whether only times differ, so that there is nothing to publish (B8).
    package func says(theSameAs other: TrackerSnapshot) -> Bool {
        pace.says(theSameAs: other.pace) && nextDrink.phase == other.nextDrink.phase
            && nextDrink.due == other.nextDrink.due
            && drinkCount == other.drinkCount && companion.state == other.companion.state && zone == other.zone
            && isQuiet == other.isQuiet && unread == other.unread && connection == other.connection
            && bottle?.timeless == other.bottle?.timeless && sync == other.sync
            && syncReport == other.syncReport && cupMl == other.cupMl && quickAddMl == other.quickAddMl
            && hasNotificationServer == other.hasNotificationServer && snoozedUntil == other.snoozedUntil
            && remindersSent == other.remindersSent
            && greeting == other.greeting && units == other.units && lastDrinkAge == other.lastDrinkAge
            && waterline?.timeless == other.waterline?.timeless
    }

    enum CodingKeys: String, CodingKey {
        case zone, phase, dueTime, countdown, haloLabel, drinkCount, remindersSent, isQuiet, waterline
        case connection, connectionError, hint, bottle, sync, pendingSync, syncReport, cupMl, quickAddMl, notifications,
            snoozedUntil, unread, greeting, lastDrinkAge
        case headline, caption, units, litresText, amountText, behindText, targetProgress
    }

    package func encode(to encoder: any Encoder) throws {
        try pace.encode(to: encoder)
        try companion.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(zone, forKey: .zone)
        try container.encode(nextDrink.phase, forKey: .phase)
        try container.encode(nextDrink.due?.wholeSeconds, forKey: .dueTime)
        try container.encode(nextDrink.secondsLeft.map(Countdown.text), forKey: .countdown)
        try container.encode(glasses.description, forKey: .haloLabel)
        try container.encode(drinkCount, forKey: .drinkCount)
        try container.encode(remindersSent, forKey: .remindersSent)
        try container.encode(isQuiet, forKey: .isQuiet)
        try container.encode(waterline, forKey: .waterline)
        try container.encode(connection.state.name, forKey: .connection)
        try container.encode(connection.error, forKey: .connectionError)
        try container.encode(connection.hint, forKey: .hint)
        try container.encode(bottle, forKey: .bottle)
        try container.encode(sync.name, forKey: .sync)
        try container.encode(syncReport.isPending, forKey: .pendingSync)
        try container.encode(syncReport, forKey: .syncReport)
        try container.encode(cupMl, forKey: .cupMl)
        try container.encode(quickAddMl, forKey: .quickAddMl)
        try container.encode(hasNotificationServer ? "enabled" : "disabled", forKey: .notifications)
        try container.encodeIfPresent(snoozedUntil?.wholeSeconds, forKey: .snoozedUntil)
        try container.encode(unread, forKey: .unread)
        try container.encode(greeting, forKey: .greeting)
        try container.encode(lastDrinkAge, forKey: .lastDrinkAge)
        try container.encode(units.rawValue, forKey: .units)
        let view = MainView(self)
        try container.encode(view.headline, forKey: .headline)
        try container.encode(view.caption, forKey: .caption)
        try container.encode(litresText, forKey: .litresText)
        try container.encode(amountText, forKey: .amountText)
        try container.encode(behindText, forKey: .behindText)
        try container.encode(targetProgress, forKey: .targetProgress)
    }
}

extension WaterlineSnapshot {
    var timeless: WaterlineSnapshot {
        var copy = self
        copy.elapsedSeconds = 0
        copy.nextReminderSeconds = nil
        copy.nextReminderText = nil
        return copy
    }
}
