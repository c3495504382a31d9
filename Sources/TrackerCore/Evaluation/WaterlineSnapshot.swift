/// The active session for all interfaces (tracker spec E5).
package struct WaterlineSnapshot: Hashable, Sendable, Encodable {
    package var sessionId: String
    package var startTime: Instant
    package var elapsedSeconds: Double
    package var state: WaterlineState
    /// The text next to the gauge; `nil` without a warning.
    package var warningText: String?
    /// The number of drinks until water is due; 0 means now.
    package var waterDueIn: Int
    package var waterDueText: String
    /// The seconds until the next reminder; `nil` if reminders are off, or nothing was logged for 90 minutes.
    package var nextReminderSeconds: Double?
    /// The time until the next reminder as `m:ss`.
    package var nextReminderText: String?
    /// Whole hours since the start of an abandoned session; otherwise `nil`.
    package var abandonedHours: Int?
    /// The adherence if the session ended now.
    package var adherencePercent: Int?

    init(_ reminders: WaterlineReminders) {
        let (session, settings, now) = (reminders.session, reminders.settings, reminders.now)
        state = reminders.waterlineState
        sessionId = session.id
        startTime = session.startTime
        elapsedSeconds = session.elapsed(at: now)
        warningText = state.isWarning ? WaterlineState.warningText : nil
        waterDueIn = state.waterDueIn(everyNDrinks: settings.waterEveryNDrinks)
        waterDueText = state.waterDueText(everyNDrinks: settings.waterEveryNDrinks)
        nextReminderSeconds = reminders.nextReminder.map { now.seconds(to: $0) }
        nextReminderText = nextReminderSeconds.map(Self.countdown)
        abandonedHours = reminders.abandonedHours
        adherencePercent = Adherence(reminders.logs.map(\.kind), everyNDrinks: settings.waterEveryNDrinks).percent
    }

    /// A countdown in whole seconds: `7:30`.
    static func countdown(_ seconds: Double) -> String {
        let wholeSeconds = Int(min(max(0, seconds), 1e9))
        return "\(wholeSeconds / 60):\(padded(wholeSeconds % 60, 2))"
    }

    /// Times are epoch seconds; missing values are `null`.
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "sessionId": sessionId, "startTime": startTime.wholeSeconds, "elapsedSeconds": elapsedSeconds,
            "value": state.value, "sinceWater": state.sinceWater, "drinks": state.drinks, "waters": state.waters,
            "standardDrinks": state.standardDrinks, "isWarning": state.isWarning, "warningText": warningText,
            "waterDueIn": waterDueIn, "waterDueText": waterDueText, "nextReminderSeconds": nextReminderSeconds,
            "nextReminderText": nextReminderText, "gauge": state.gauge, "abandonedHours": abandonedHours,
            "adherencePercent": adherencePercent,
        ])
    }
}
