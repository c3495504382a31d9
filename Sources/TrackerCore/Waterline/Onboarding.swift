/// What setup says to a new user (E8).
package enum Onboarding {
    /// Setup's first words.
    package static let welcome = "Waterline helps you pace and drink less by adding water breaks."
    /// What the tool is not.
    package static let guardrail =
        "This is a pacing tool. It does not estimate intoxication or guarantee how you'll feel tomorrow."
    /// Before the choice between Enable and Skip.
    package static let notifications =
        "Waterline sends gentle reminders to drink water during your session. Allow notifications to get pacing nudges."
}

extension LogEntry {
    /// The session's water as the day's intake (`hydration.countSessionWater`); `nil` for what is no water, has no
    /// volume, or came through the bottle and counts already.
    package func hydrationDrink(calendar: DayCalendar, defaultWaterOz: Int) -> Drink? {
        guard kind == .water, source != .bottle else { return nil }
        let ml = Ounces.millilitres(amountOz ?? Double(defaultWaterOz))
        guard ml > 0 else { return nil }
        return Drink(
            key: Drink.sessionKeys + id, at: timestamp, calendar: calendar, ml: ml, source: .session,
            updatedAt: updatedAt)
    }
}

extension Drink {
    /// How keys of a session's water begin.
    package static let sessionKeys = "session|"

    /// A session's water that counts in the day, or one that somebody corrected.
    package var isOfSession: Bool { source == .session || key.hasPrefix(Self.sessionKeys) }

    /// The same for whom sessions are no business of: a water like another.
    package var veiled: Drink {
        guard isOfSession else { return self }
        var drink = self
        drink.key = Self.veiled(key)
        drink.source = .cli
        return drink
    }

    /// A key that does not say that there is a session.
    package static func veiled(_ key: String) -> String {
        key.hasPrefix(sessionKeys) && key != sessionKeys ? String(key.dropFirst(sessionKeys.count)) : key
    }
}
