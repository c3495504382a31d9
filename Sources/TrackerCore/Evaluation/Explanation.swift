/// The reasons for and against each reminder at one moment: its conditions, their facts, the deciding ones, and what
/// would change them. The decision uses the same conditions.
package struct Explanation: Hashable, Sendable {
    package struct Condition: Hashable, Sendable, Encodable {
        package var name: ReminderGuard.Name
        package var holds: Bool
        /// The current fact, one sentence.
        package var fact: String
        /// The change that would reverse the result, one sentence.
        package var change: String
    }

    package struct Reminder: Hashable, Sendable {
        package var kind: NotificationKind
        /// The conditions in the order of their evaluation.
        package var conditions: [Condition]
        package var isSent: Bool { conditions.allSatisfy(\.holds) }
        /// The conditions that do not hold, in order.
        package var failingConditions: [Condition] { conditions.filter { !$0.holds } }
    }

    package var at: Instant
    /// The IANA id of the time zone.
    package var zone: String
    package var reminders: [Reminder]

    /// The kinds that the reminder engines decide, once each.
    package static let kinds: [NotificationKind] = NotificationKind.allCases.filter {
        !$0.isResident && $0 != .unadopted
    }
}

extension Explanation.Reminder: Encodable {
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "kind": kind, "id": kind.id, "told": isSent, "decidedBy": failingConditions.map(\.name),
            "conditions": conditions,
        ])
    }
}

extension Explanation: Encodable {
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "at": at.description, "zone": zone, "reminders": reminders,
        ])
    }
}

extension Tracker {
    /// Explains the decision of `evaluate` for the same facts and moment. Has no side effects.
    package static func explain(_ facts: TrackerFacts, now: Instant) -> Explanation {
        let hydration = HydrationReminders(now: now, facts: facts)
        let waterline = facts.waterline.map {
            WaterlineReminders(now: now, facts: $0, settings: facts.settings, calendar: facts.calendar)
        }
        let texts = ReminderTexts(hydration: hydration, waterline: waterline, calendar: facts.calendar)
        let reminders = Explanation.kinds.map { kind in
            let guards = hydration.guards[kind] ?? waterline?.guards[kind] ?? [ReminderGuard(.sessionRuns, false)]
            return Explanation.Reminder(kind: kind, conditions: guards.map { texts.condition($0, of: kind) })
        }
        return Explanation(at: now, zone: facts.zone.id, reminders: reminders)
    }
}
