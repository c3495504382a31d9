/// The state of the day for all interfaces. The JSON has the fields of the pace payload (tracker spec B7) and of the
/// second screen (A12), and the session under `waterline`.
package struct TrackerSnapshot: Hashable, Sendable, Encodable {
    package var pace: PaceSnapshot
    package var companion: CompanionSnapshot
    package var nextDrink: NextDrink
    /// The IANA id of the time zone.
    package var zone: String
    /// The label of the progress ring (K-A7).
    package var glasses: GlassLabel
    package var drinkCount: Int
    package var remindersSent: Int
    /// Whether the time is outside the active hours.
    package var isQuiet: Bool
    /// The session; `nil` without an active session.
    package var waterline: WaterlineSnapshot?
    /// The problem of the last poll. It stays until a poll succeeds.
    package var connectionProblem: ConnectionProblem?
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
    /// The expected intake divided by the goal, for the second fill of the display; `nil` while it is hidden (B6).
    package var targetProgress: Double?

    init(now: Instant, facts: TrackerFacts, hydration: HydrationReminders, waterline: WaterlineSnapshot?) {
        let (settings, intake) = (facts.settings, facts.today(at: now))
        (pace, nextDrink) = (hydration.pace, hydration.nextDrink)
        companion = CompanionSnapshot(intake: intake, settings: settings, nextDrink: nextDrink)
        zone = facts.zone.id
        glasses = GlassLabel(totalMl: intake.totalMl, goalMl: pace.dailyGoalMl, glassMl: settings.glassMl)
        drinkCount = intake.count
        remindersSent = hydration.state.remindersSent
        isQuiet = hydration.isQuiet
        self.waterline = waterline
        connectionProblem = facts.connectionProblem
        bottle = facts.bottle
        sync = facts.sync
        syncReport = facts.syncReport
        (cupMl, quickAddMl) = (settings.cupMl, settings.quickAddMl)
        hasNotificationServer = facts.hasNotificationServer
        snoozedUntil = hydration.snoozedUntil
        (unread, unreadOfSessions) = (facts.unread, min(facts.unread, facts.unreadOfSessions))
        greeting = Greeting.text(at: facts.calendar.timeOfDay(at: now))
        lastDrinkAge = intake.lastDrink.map { RelativeAge.text(from: $0, to: now) }
        units = settings.amountUnits
        litresText = "\(units.short(pace.dailyTotalMl)) / \(units.short(pace.dailyGoalMl))"
        amountText = "\(units.text(pace.dailyTotalMl)) / \(units.text(pace.dailyGoalMl))"
        behindText = StatusText.long(
            deficitMl: pace.deficitMl, totalMl: pace.dailyTotalMl, goalMl: pace.dailyGoalMl, in: units)
        targetProgress =
            StatusText.isBehind(pace.deficitMl) ? min(1, Double(pace.expectedMl) / Double(pace.dailyGoalMl)) : nil
    }

    /// The large text of the main view (tracker spec A9): the countdown, or a status such as `Outside drinking hours`.
    package var headline: String {
        switch nextDrink.phase {
        case .counting: Countdown.text(nextDrink.secondsLeft ?? 0)
        case .alerting: "00:00"
        case .outsideHours: "Outside drinking hours"
        case .goalReached: StatusText.goalReached
        }
    }

    /// The text below the headline.
    package var caption: String? { nextDrink.phase == .counting ? "until next drink" : nil }

    /// The snapshot for interfaces without Waterline: without the session and without numbers that reveal it, such as
    /// pending sync changes and unread notifications.
    package var withoutWaterline: TrackerSnapshot {
        var shared = self
        shared.waterline = nil
        if sync == .pending { shared.sync = .idle }
        shared.syncReport.waiting = 0
        (shared.unread, shared.unreadOfSessions) = (unread - unreadOfSessions, 0)
        return shared
    }

    /// Whether only times differ, so that there is nothing to publish (B8).
    package func hasSameContent(as other: TrackerSnapshot) -> Bool { withoutTimes == other.withoutTimes }

    /// The snapshot without values that change by time alone.
    package var withoutTimes: TrackerSnapshot {
        var copy = self
        copy.pace.timestamp = Instant(milliseconds: 0)
        (copy.nextDrink.secondsLeft, copy.companion.timeUntilNext) = (nil, nil)
        copy.bottle = bottle?.withoutTimes
        copy.waterline = waterline?.withoutTimes
        return copy
    }

    package func encode(to encoder: any Encoder) throws {
        try pace.encode(to: encoder)
        try companion.encode(to: encoder)
        try encoder.encode([
            "zone": zone, "phase": nextDrink.phase, "dueTime": nextDrink.due?.wholeSeconds,
            "countdown": nextDrink.secondsLeft.map(Countdown.text), "haloLabel": glasses.description,
            "drinkCount": drinkCount, "remindersSent": remindersSent, "isQuiet": isQuiet, "waterline": waterline,
            "connection": connectionProblem == nil ? "disconnected" : "error",
            "connectionError": connectionProblem?.description, "hint": connectionProblem?.hint, "bottle": bottle,
            "sync": sync, "pendingSync": syncReport.isPending, "syncReport": syncReport,
            "cupMl": cupMl, "quickAddMl": quickAddMl, "notifications": hasNotificationServer ? "enabled" : "disabled",
            "unread": unread, "greeting": greeting, "lastDrinkAge": lastDrinkAge, "units": units.rawValue,
            "headline": headline, "caption": caption, "litresText": litresText, "amountText": amountText,
            "behindText": behindText, "targetProgress": targetProgress,
        ])
        if let snoozedUntil { try encoder.encode(["snoozedUntil": snoozedUntil.wholeSeconds]) }
    }
}

extension WaterlineSnapshot {
    var withoutTimes: WaterlineSnapshot {
        var copy = self
        copy.elapsedSeconds = 0
        copy.nextReminderSeconds = nil
        copy.nextReminderText = nil
        return copy
    }
}
