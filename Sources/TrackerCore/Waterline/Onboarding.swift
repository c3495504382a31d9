/// The texts of the first-time setup (E8).
package enum Onboarding {
    package static let welcome = "Waterline helps you pace and drink less by adding water breaks."
    package static let guardrail =
        "This is a pacing tool. It does not estimate intoxication or guarantee how you'll feel tomorrow."
    package static let notifications =
        "Waterline sends gentle reminders to drink water during your session. Allow notifications to get pacing nudges."
}

extension LogEntry {
    /// The session's water as a drink of the day (`hydration.countSessionWater`). `nil` for an alcoholic drink, for
    /// water without a volume, and for a bottle's drink, which counts already.
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
    /// The key prefix of a session's water.
    package static let sessionKeys = "session|"

    /// Whether the drink is a session's water or a correction of one.
    package var belongsToSession: Bool { source == .session || key.hasPrefix(Self.sessionKeys) }

    /// The drink as shown on interfaces without Waterline.
    package var withoutSession: Drink {
        guard belongsToSession else { return self }
        var drink = self
        drink.key = Self.keyWithoutSession(key)
        drink.source = .cli
        return drink
    }

    /// The key without `sessionKeys`, the prefix of the drinks of sessions.
    package static func keyWithoutSession(_ key: String) -> String {
        key.hasPrefix(sessionKeys) && key != sessionKeys ? String(key.dropFirst(sessionKeys.count)) : key
    }
}
