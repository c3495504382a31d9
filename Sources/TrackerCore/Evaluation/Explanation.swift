/// Why something is told at one moment, or not: of each kind of reminder the conditions, the facts behind them, the
/// ones that decided, and what would change that. The conditions are those that the decision itself was made by.
package struct Explanation: Hashable, Sendable {
    /// Something that has to be so for a reminder to be told.
    package struct Condition: Hashable, Sendable, Encodable {
        /// Which condition it is.
        package var name: ReminderGuard.Name
        /// Whether it is so.
        package var holds: Bool
        /// How it stands, in a sentence.
        package var fact: String
        /// What would turn it over, in a sentence.
        package var change: String
    }

    /// One reminder, with everything that was asked before it.
    package struct Reminder: Hashable, Sendable {
        /// Which kind of reminder.
        package var kind: NotificationKind
        /// Its conditions, in the order in which they were asked.
        package var conditions: [Condition]
        /// Whether it is told: all conditions hold.
        package var isTold: Bool { conditions.allSatisfy(\.holds) }
        /// What keeps it silent, the first that was asked first; none where it is told.
        package var deciding: [Condition] { conditions.filter { !$0.holds } }
    }

    /// The moment that is explained.
    package var at: Instant
    /// IANA id of the zone in force then.
    package var zone: String
    /// One for each kind of reminder.
    package var reminders: [Reminder]

    /// Kinds that are reminders; the resident word of a running session is none.
    package static let kinds: [NotificationKind] = NotificationKind.allCases.filter { !$0.isResident }
}

extension Explanation.Reminder: Encodable {
    enum CodingKeys: String, CodingKey { case kind, id, told, decidedBy, conditions }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(kind, forKey: .kind)
        try container.encode(kind.id, forKey: .id)
        try container.encode(isTold, forKey: .told)
        try container.encode(deciding.map(\.name), forKey: .decidedBy)
        try container.encode(conditions, forKey: .conditions)
    }
}

extension Explanation: Encodable {
    enum CodingKeys: String, CodingKey { case at, zone, reminders }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(at.description, forKey: .at)
        try container.encode(zone, forKey: .zone)
        try container.encode(reminders, forKey: .reminders)
    }
}

extension Tracker {
    /// Why `evaluate` decides what it decides, for the same facts and the same moment. Tells nobody and remembers
    /// nothing.
    package static func explain(_ facts: TrackerFacts, now: Instant) -> Explanation {
        let hydration = hydration(facts, now: now)
        let waterline = facts.waterline.map {
            WaterlineReminders(now: now, facts: $0, settings: facts.settings, calendar: facts.calendar)
        }
        let words = ReminderWords(hydration: hydration, waterline: waterline, calendar: facts.calendar)
        let reminders = Explanation.kinds.map { kind in
            let guards = hydration.guards[kind] ?? waterline?.guards[kind] ?? [ReminderGuard(.sessionRuns, false)]
            return Explanation.Reminder(kind: kind, conditions: guards.map { words.condition($0, of: kind) })
        }
        return Explanation(at: now, zone: facts.zone.id, reminders: reminders)
    }

    private static func hydration(_ facts: TrackerFacts, now: Instant) -> HydrationReminders {
        let intake = facts.today(at: now)
        let pace = PaceSnapshot(now: now, intake: intake, settings: facts.settings, calendar: facts.calendar)
        return HydrationReminders(
            now: now, facts: facts, pace: pace, nextDrink: NextDrink(facts: facts, intake: intake, now: now))
    }
}
