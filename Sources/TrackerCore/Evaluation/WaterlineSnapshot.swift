/// The active session as surfaces show it (tracker spec E5).
package struct WaterlineSnapshot: Hashable, Sendable, Encodable {
    /// The session's id.
    package var sessionId: String
    /// When it began.
    package var startTime: Instant
    /// Real seconds since then.
    package var elapsedSeconds: Double
    /// The engine's value in drinks; may be negative.
    package var value: Double
    /// Drinks since the last water.
    package var sinceWater: Int
    /// Entries with alcohol.
    package var drinks: Int
    /// Entries of water.
    package var waters: Int
    /// Sum of the estimates.
    package var standardDrinks: Double
    /// The value has reached the warning threshold.
    package var isWarning: Bool
    /// What is said beside the gauge while it has.
    package var warningText: String?
    /// Drinks until water is due; 0 is now.
    package var waterDueIn: Int
    /// The same in words.
    package var waterDueText: String
    /// `nil` when reminders are off, or gone silent.
    package var nextReminderSeconds: Double?
    /// `m:ss`.
    package var nextReminderText: String?
    /// 0…1, centre 0.5.
    package var gauge: Double
    /// Whole hours, once the session looks forgotten.
    package var abandonedHours: Int?
    /// Adherence if the session ended now.
    package var adherencePercent: Int?

    init(_ reminders: WaterlineReminders) {
        let (session, state, settings, now) = (reminders.session, reminders.engine, reminders.settings, reminders.now)
        sessionId = session.id
        startTime = session.startTime
        elapsedSeconds = session.elapsed(at: now)
        value = state.value
        sinceWater = state.sinceWater
        drinks = state.drinks
        waters = state.waters
        standardDrinks = state.standardDrinks
        isWarning = state.isWarning
        warningText = state.isWarning ? WaterlineState.warningText : nil
        waterDueIn = state.waterDueIn(everyNDrinks: settings.waterEveryNDrinks)
        waterDueText = state.waterDueText(everyNDrinks: settings.waterEveryNDrinks)
        nextReminderSeconds = reminders.nextReminder.map { now.seconds(to: $0) }
        nextReminderText = nextReminderSeconds.map(Self.countdown)
        gauge = state.gauge
        abandonedHours = AbandonedSession.hours(
            start: session.startTime, keepGoingAt: reminders.state.keepGoingAt, now: now)
        adherencePercent = Adherence(reminders.logs.map(\.kind), everyNDrinks: settings.waterEveryNDrinks).percent
    }

    /// `7:30`; whole seconds.
    static func countdown(_ seconds: Double) -> String {
        let whole = Int(min(max(0, seconds), 1e9))
        return "\(whole / 60):\(padded(whole % 60, 2))"
    }

    enum CodingKeys: String, CodingKey {
        case sessionId, startTime, elapsedSeconds, value, sinceWater, drinks, waters, standardDrinks, isWarning,
            warningText
        case waterDueIn, waterDueText, nextReminderSeconds, nextReminderText, gauge, abandonedHours, adherencePercent
    }

    /// Times are epoch seconds; `null` is written where there is nothing.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(sessionId, forKey: .sessionId)
        try container.encode(startTime.wholeSeconds, forKey: .startTime)
        try container.encode(elapsedSeconds, forKey: .elapsedSeconds)
        try container.encode(value, forKey: .value)
        try container.encode(sinceWater, forKey: .sinceWater)
        try container.encode(drinks, forKey: .drinks)
        try container.encode(waters, forKey: .waters)
        try container.encode(standardDrinks, forKey: .standardDrinks)
        try container.encode(isWarning, forKey: .isWarning)
        try container.encode(warningText, forKey: .warningText)
        try container.encode(waterDueIn, forKey: .waterDueIn)
        try container.encode(waterDueText, forKey: .waterDueText)
        try container.encode(nextReminderSeconds, forKey: .nextReminderSeconds)
        try container.encode(nextReminderText, forKey: .nextReminderText)
        try container.encode(gauge, forKey: .gauge)
        try container.encode(abandonedHours, forKey: .abandonedHours)
        try container.encode(adherencePercent, forKey: .adherencePercent)
    }
}
