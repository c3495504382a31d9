import Support
import Testing
import TrackerSupport

@testable import TrackerCore

/// Every reminder and its absence is explained by the conditions of the decision: changing exactly these conditions
/// reverses it.
@Suite struct WhyProperties {
    private static let engines = ["pace", "interval", "adaptive", "all"]

    /// Random days with drinks, entries and rejections. Each time is explained, and each condition is changed alone
    /// where this is possible.
    @Test func `changing the named conditions changes the decision`() throws {
        var (flipped, tried): ([ReminderGuard.Name: Int], [ReminderGuard.Name: Int]) = ([:], [:])
        var (spoke, fellSilent) = (0, 0)
        for seed in 1...18 {
            var random = SeededGenerator(seed: UInt64(seed))
            var world = try world(seed, &random)
            var now = try world.moment("2026-06-15 05:30")
            for _ in 1...36 {
                now = now.advanced(seconds: Double(Int.random(in: 60...3600, using: &random)))
                act(&world, now, isThirsty: seed % 3 == 0, &random)
                var facts = world.facts(at: now)
                // Rare by chance: a drink that removed the deficit of a reminder without a notification.
                if Int.random(in: 0..<4, using: &random) == 0 { facts.engineDay?.recoveryIsDue = true }
                let explanation = try explained(facts, now, seed)
                for reminder in explanation.reminders {
                    for condition in reminder.conditions {
                        let isNamed = reminder.isSent || reminder.failingConditions.map(\.name) == [condition.name]
                        // A sufficient number of each, and sometimes one of several conditions, which alone must change
                        // nothing.
                        guard
                            isNamed
                                ? flipped[condition.name, default: 0] < 8 && tried[condition.name, default: 0] < 300
                                : Int.random(in: 0..<40, using: &random) == 0
                        else { continue }
                        tried[condition.name, default: 0] += 1
                        guard let other = facts.flipped(condition, of: reminder.kind, now) else { continue }
                        let after = try explained(other, now, seed)
                        guard let same = after.reminders.first(where: { $0.kind == reminder.kind }),
                            same.conditions.map(\.name) == reminder.conditions.map(\.name)
                        else { continue }
                        let changed = zip(reminder.conditions, same.conditions).filter { $0.0.holds != $0.1.holds }.map(
                            \.0.name)
                        guard changed == [condition.name] else { continue }
                        #expect(
                            (same.isSent != reminder.isSent) == isNamed,
                            "seed \(seed), \(now): \(reminder.kind) by \(condition)")
                        guard isNamed else { continue }
                        flipped[condition.name, default: 0] += 1
                        if same.isSent { spoke += 1 } else { fellSilent += 1 }
                    }
                }
                world.evaluate(at: now)
            }
        }
        #expect(spoke > 40 && fellSilent > 40, "\(spoke) began to speak, \(fellSilent) fell silent")
        // The limit of one notification at a time and the session cannot be changed independently.
        let constant: Set<ReminderGuard.Name> = [.noOtherNotification, .sessionRuns]
        let never = Set(ReminderGuard.Name.allCases).subtracting(flipped.keys).subtracting(constant)
        #expect(never.isEmpty, "never the deciding condition: \(never)")
    }

    /// The explanation at a time; checks that it agrees with the evaluation and has no empty sentence.
    private func explained(_ facts: TrackerFacts, _ now: Instant, _ seed: Int) throws -> Explanation {
        let explanation = Tracker.explain(facts, now: now)
        let decided = Set(Tracker.evaluate(facts, now: now).decisions.map(\.kind).filter { !$0.isResident })
        #expect(Set(explanation.reminders.filter(\.isSent).map(\.kind)) == decided, "seed \(seed), \(now)")
        #expect(explanation.reminders.map(\.kind) == Explanation.kinds)
        for condition in explanation.reminders.flatMap(\.conditions) {
            #expect(
                condition.fact.hasSuffix(".") && condition.change.hasSuffix(".") && !condition.fact.contains("nil"),
                "\(condition)")
        }
        return explanation
    }

    private func world(_ seed: Int, _ random: inout SeededGenerator) throws -> World {
        var world = try World(zone: worldZones[seed % worldZones.count])
        try world.settings.set("reminders.engine", to: Self.engines[seed % 4])
        for (name, values) in [
            ("reminders.backOnTrack", ["true", "false"]), ("reminders.dailyLimit", ["true", "false"]),
            ("reminders.maxPerDay", ["2", "8"]),
            ("reminders.enabled", ["true", "true", "false"]), ("hydration.goalMl", ["1000", "2500"]),
            ("waterline.waterEveryNDrinks", ["1", "3"]),
            ("reminders.minDeficitMl", ["0", "50", "400"]), ("waterline.timeReminders", ["true", "true", "false"]),
        ] { try world.settings.set(name, to: values.randomElement(using: &random) ?? "") }
        return world
    }

    private func act(_ world: inout World, _ now: Instant, isThirsty: Bool, _ random: inout SeededGenerator) {
        switch Int.random(in: 0..<8, using: &random) {
        // Few drinks lead to reminders, many reach the goal.
        case 0, isThirsty ? 1 : 0, isThirsty ? 2 : 0: world.drink(Int.random(in: 50...600, using: &random), at: now)
        case 3 where world.session == nil: world.session = WaterlineSession(id: "s", userID: "u", startTime: now)
        case 3, 4: if world.session != nil { world.log(.alcohol, at: now) }
        case 5: if world.session != nil { world.log(.water, at: now) }
        case 6: world.sink.isAvailable.toggle()
        default: break
        }
    }
}

extension TrackerFacts {
    /// The facts with one condition changed minimally; `nil` where no change is known.
    fileprivate func flipped(_ condition: Explanation.Condition, of kind: NotificationKind, _ now: Instant)
        -> TrackerFacts?
    {
        var facts = self
        let day = calendar.day(of: now)
        var intake = today(at: now)
        var engine = (engineDay ?? EngineDay(dayKey: day)).state(on: day)
        let pace = PaceSnapshot(now: now, intake: intake, settings: settings, calendar: calendar)
        let wasOn = condition.holds
        switch condition.name {
        case .remindersOn: facts.settings.remindersEnabled.toggle()
        case .activeHours:
            // The other engines keep their hours.
            (facts.settings.intervalWake, facts.settings.intervalSleep) = (
                settings.intervalHours.wake, settings.intervalHours.sleep
            )
            (facts.settings.adaptiveStart, facts.settings.adaptiveEnd) = (
                settings.adaptiveHours.start, settings.adaptiveHours.end
            )
            let time = calendar.timeOfDay(at: now)
            if wasOn {
                facts.settings.sleep = time
            } else if time < settings.wake {
                facts.settings.wake = time
            } else {
                facts.settings.sleep = TimeOfDay(hour: 23, minute: 59) ?? settings.sleep
            }
        case .goalOpen, .goalReached:
            let isReached = pace.isGoalAchieved
            facts.settings.goalMl = isReached ? intake.totalMl + 1 : max(1, intake.totalMl)
        case .engineChosen: facts.settings.engine = wasOn ? (kind == .pace ? .interval : .pace) : .all
        case .underDailyLimit:
            facts.settings.dailyLimit = true
            engine.remindersSent = wasOn ? settings.maxPerDay : 0
        case .notSnoozed: facts.snoozedUntil = wasOn ? now.advanced(seconds: 60) : nil
        case .setupFinished: facts.reminderHold = wasOn ? .setup : nil
        case .firstPollEnded: facts.reminderHold = wasOn ? .firstPoll : nil
        case .noOtherNotification, .sessionRuns: return nil
        case .behindPace, .onPace:
            let isBehind = pace.urgency > .onTrack
            let total = isBehind ? pace.expectedMl : pace.expectedMl - max(1, settings.minDeficitMl)
            guard total >= 0, total < pace.dailyGoalMl else { return nil }
            intake.totalMl = total
        case .urgencyRisen: engine.lastNotified = wasOn ? .overdue : nil
        case .deficitLargeEnough: facts.settings.minDeficitMl = wasOn ? pace.deficitMl + 1 : 0
        case .drinkDue: intake.lastDrink = wasOn ? now : nil
        case .intervalNotSent:
            engine.lastDueAnchor = wasOn ? NextDrink(facts: self, intake: intake, now: now).anchor : nil
        case .pauseLongEnough: intake.lastDrink = wasOn ? now : nil
        case .adaptiveNotSent: engine.lastAdaptiveSlot = wasOn ? now : nil
        case .goalNotSent: engine.goalNotified.toggle()
        case .recovered: engine.recoveryIsDue = wasOn ? nil : true
        case .backOnTrackOn: facts.settings.backOnTrack.toggle()
        case .timeRemindersOn: facts.settings.timeReminders.toggle()
        case .waterDue: facts.settings.waterEveryNDrinks = wasOn ? 1000 : 0
        case .gridPointReached, .gridPointNotSent, .stillLogging, .drinkLogged, .thresholdCrossed, .valueHigh,
            .openForLong, .questionNotSent:
            guard let session = waterline?.flipped(condition, now, settings) else { return nil }
            facts.waterline = session
        }
        facts.engineDay = engine
        facts.days[day] = intake
        return facts
    }
}

extension WaterlineFacts {
    fileprivate func flipped(_ condition: Explanation.Condition, _ now: Instant, _ settings: Settings) -> WaterlineFacts
    {
        var facts = self
        var state = reminders ?? WaterlineReminderState(session: session, intervalMinutes: settings.intervalMinutes)
        let wasOn = condition.holds
        switch condition.name {
        case .gridPointReached:
            state.gridStart = wasOn ? now : now.advanced(seconds: -Double(settings.intervalMinutes) * 60 - 1)
        case .gridPointNotSent: state.lastSlot = wasOn ? now : nil
        case .stillLogging:
            let log = LogEntry(
                id: "flipped", sessionID: session.id,
                timestamp: now.advanced(seconds: -Double(settings.intervalMinutes) * 60), kind: .water, amountOz: 8,
                source: .cli, updatedAt: now, seq: 0)
            if wasOn {
                (facts.logs, facts.session.startTime) = ([], now.advanced(seconds: -6 * 3600))
            } else {
                facts.logs.append(log)
            }
        case .drinkLogged: state.lastDrinkSeq = wasOn ? .max : 0
        case .thresholdCrossed:
            state.lastValueThousandths = wasOn ? 1_000_000 : -1_000_000
            state.lastValueSeq = wasOn ? .max : 0
        case .valueHigh where wasOn:
            // The threshold was reached, with much water afterwards.
            facts.logs += (1...60).map { number in
                LogEntry(
                    id: "flipped\(number)", sessionID: session.id, timestamp: now, kind: .water, amountOz: 8,
                    source: .cli, updatedAt: now, seq: 100_000 + number)
            }
        case .openForLong:
            if wasOn { state.keepGoingAt = now } else { facts.session.startTime = now.advanced(seconds: -13 * 3600) }
        case .questionNotSent: state.abandonedNotified.toggle()
        default: break
        }
        facts.reminders = state
        return facts
    }
}
