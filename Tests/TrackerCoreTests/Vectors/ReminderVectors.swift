import Testing
import TrackerSupport

@testable import TrackerCore

/// A10, B5, X2 and the catalogue: the notifications of each engine, their number and texts.
enum ReminderVectors {
    static let table: [Vector] = interval + others + engines + texts

    private static let drinksOfA = [
        ("reminders.engine", "interval"), ("hydration.goalMl", "1600"), ("schedule.interval.wake", "08:00"),
        ("schedule.interval.sleep", "20:00"),
    ]

    private static let interval: [Vector] = [
        // Nothing drunk: at 09:30, once (the original requirements: 18:50, K-A5).
        Vector("A10-1") {
            var world = try World(drinksOfA)
            try world.runDay()
            #expect(world.sent(.interval) == ["09:30 Stay hydrated - grab your water bottle."])
        },
        // Each drink is a new anchor; 11:08:34 is evaluated at the next minute.
        Vector("A10-2") {
            var world = try World(drinksOfA)
            try world.runDay([("09:40", 200), ("12:00", 200)])
            #expect(world.times(.interval) == ["09:30", "11:09", "13:20"])
        },
        // At the due second exactly.
        Vector("A10-3") {
            var world = try World(drinksOfA)
            let due = try world.moment("2026-06-15 09:30")
            world.evaluate(at: due.advanced(seconds: -1))
            #expect(world.sent(.interval).isEmpty)
            #expect(Tracker.evaluate(world.facts(at: due), now: due.advanced(seconds: -1)).nextChange == due)
            world.evaluate(at: due)
            #expect(world.sent(.interval).count == 1)
        },
    ]

    private static let others: [Vector] = [
        // Goal: once a day, also in quiet hours, also after deleting, raising and reaching again.
        Vector("B5-1") {
            var world = try World()
            let late = try world.moment("2026-06-15 23:00")
            world.drink(2500, at: late)
            world.evaluate(at: late)
            #expect(world.sent(.goal) == ["23:00 Good job! You've hit your daily hydration goal."])
            world.drinks[0].isDeleted = true
            world.evaluate(at: late)
            try world.settings.set("hydration.goalMl", to: "3000")
            world.drink(3000, at: late)
            world.evaluate(at: late.advanced(seconds: 60))
            #expect(world.sent(.goal).count == 1)
            #expect(world.engineDay?.remindersSent == 0)
        },
        // Off: not sent, but the day's flag is set.
        Vector("B5-2") {
            var world = try World([("reminders.enabled", "false")])
            let now = try world.moment("2026-06-15 12:00")
            world.drink(2500, at: now)
            world.evaluate(at: now)
            #expect(world.sent(.goal).isEmpty && world.engineDay?.goalNotified == true)
            try world.settings.set("reminders.enabled", to: "true")
            world.evaluate(at: now)
            #expect(world.sent(.goal).isEmpty)
        },
        // Back on track is off by default.
        Vector("B5-3") {
            var world = try World()
            try world.runDay([("11:00", 1000)])
            #expect(world.sent(.recovery).isEmpty && !world.sent(.pace).isEmpty)
        },
        // A rejected reminder changes nothing and is offered again with the same id (K-B15).
        Vector("B5-4") {
            var world = try World()
            world.sink.isAvailable = false
            let ten = try world.moment("2026-06-15 10:00")
            let refused = world.evaluate(at: ten)
            #expect(world.engineDay?.remindersSent == 0 && world.engineDay?.lastNotified == nil)
            world.sink.isAvailable = true
            let accepted = world.evaluate(at: ten.advanced(seconds: 60))
            #expect(refused.decisions.map(\.notificationId) == ["hydration-reminder/2026-06-15/1"])
            #expect(accepted.decisions.map(\.notificationId) == refused.decisions.map(\.notificationId))
            #expect(world.engineDay?.remindersSent == 1 && world.engineDay?.lastNotified == .overdue)
            // So is the goal's notification, until a sink accepts it.
            world.drink(2500, at: ten)
            world.sink.isAvailable = false
            world.evaluate(at: ten.advanced(seconds: 120))
            world.sink.isAvailable = true
            for second in [180.0, 240] { world.evaluate(at: ten.advanced(seconds: second)) }
            #expect(world.times(.goal) == ["10:03"])
        },
        // A process that was suspended over the boundary starts the new day as new (K-B16).
        Vector("B4-D") {
            var world = try World()
            world.evaluate(at: try world.moment("2026-06-15 10:00"))
            world.evaluate(at: try world.moment("2026-06-17 10:00"))
            #expect(world.sent(.pace).count == 2)
            #expect(world.engineDay?.dayKey.description == "2026-06-17" && world.engineDay?.remindersSent == 1)
        },
    ]

    private static let engines: [Vector] = [
        Vector("X2-1") {
            // Adaptive: every two hours without a drink, with the common hours.
            var world = try World([("reminders.engine", "adaptive"), ("schedule.adaptive.start", "8")])
            try world.runDay([("10:30", 1300)])
            #expect(world.times(.adaptive) == ["10:00", "12:30", "14:30", "16:30", "18:30", "20:30"])
            #expect(world.sent(.adaptive).first == "10:00 You need about 210 ml per hour to hit your goal. Tap to log!")
        },
        // All: at most one per evaluation, one congratulation, and the limit applies to the sum.
        Vector("X2-2") {
            var world = try World([("reminders.engine", "all")])
            try world.run(
                from: world.moment("2026-06-15 04:00"), to: world.moment("2026-06-16 03:59"),
                after: { _, now, evaluation in
                    #expect(evaluation.decisions.count <= 1, "at \(now)")
                })
            #expect(world.sent(.pace, .interval, .adaptive).count <= 8)
            #expect(world.sent(.pace).count == 2 && !world.sent(.interval).isEmpty && !world.sent(.adaptive).isEmpty)
            world.drink(2500, at: try world.moment("2026-06-16 12:00"))
            world.evaluate(at: try world.moment("2026-06-16 12:00"))
            #expect(world.sent(.goal).count == 1)
        },
        // The common quiet hours apply to every engine.
        Vector("X2-3") {
            for engine in ["pace", "interval", "adaptive", "all"] {
                var world = try World([
                    ("reminders.engine", engine), ("schedule.interval.sleep", "23:45"), ("schedule.sleep", "18:00"),
                ])
                try world.runDay()
                #expect(world.sent(.pace, .interval, .adaptive).allSatisfy { $0 >= "07:00" && $0 < "18:00" })
            }
        },
    ]

    private static let texts: [Vector] = [
        Vector("N-1") {
            let reminder = ["default", "log-cup", "snooze", "not-today", "dismiss"]
            let table: [(NotificationKind, String, Int, [String], Bool, Bool)] = [
                (.pace, "hydration-reminder", 1, reminder, true, true),
                (.interval, "hydration-reminder", 2, reminder, true, true),
                (.adaptive, "hydration-reminder", 1, reminder, true, true),
                (.goal, "hydration-goal-reached", 1, ["default"], false, false),
                (.recovery, "hydration-back-on-track", 0, ["default"], true, false),
                (.unadopted, "bottle-in-range", 0, ["default"], false, false),
                (.waterlineTime, "waterline-time", 1, ["log-water", "dismiss"], false, false),
                (.waterlinePerDrink, "waterline-per-drink", 1, ["log-water", "dismiss"], false, false),
                (.waterlineWarning, "waterline-warning", 2, ["log-water", "dismiss"], false, false),
                (.waterlineAbandoned, "waterline-abandoned", 1, ["end-session", "keep-going"], false, false),
                (.waterlineLive, "waterline-live", 0, ["log-water", "log-drink"], false, false),
            ]
            #expect(Set(table.map(\.0)) == Set(NotificationKind.allCases))
            var settings = Settings()
            try settings.set("notify.timeSensitiveCritical", to: "off")
            for (kind, id, urgency, actions, isHeld, counts) in table {
                #expect(kind.id == id && kind.actions.map(\.rawValue) == actions)
                #expect(kind.urgency(for: .attention, settings: Settings()).rawValue == urgency)
                #expect(kind.urgency(for: .attention, settings: settings).rawValue == min(1, urgency))
                #expect(kind.isHeldInQuietHours == isHeld && kind.countsInLimit == counts)
            }
            #expect(NotificationKind.pace.urgency(for: .overdue, settings: Settings()) == .critical)
        },
        // Discreet: no count and none of the revealing texts, in any kind.
        Vector("E4-T1") {
            let state = WaterlineState.computeState(entries("A A A"), warningThreshold: 2)
            let words = ["drink", "alcohol", "beer", "wine", "shot", "cocktail"]
            let texts = [
                NotificationTexts.waterlineTime, NotificationTexts.perDrink(sinceWater: 3, discreet: true),
                NotificationTexts.warning(discreet: true), NotificationTexts.abandoned(hours: 12),
                NotificationTexts.live(state, nextReminder: TimeOfDay(hour: 22), discreet: true),
            ]
            for text in texts {
                #expect(text.body.isEmpty)
                for word in words { #expect(!text.title.lowercased().contains(word)) }
            }
            for action in NotificationKind.waterlineLive.actions + NotificationKind.waterlineTime.actions {
                for word in words { #expect(!action.label(discreet: true).lowercased().contains(word)) }
            }
            #expect(
                texts.map(\.title) == [
                    "Time for water", "Time for a break", "Time for a break",
                    "Your session has been running for 12 hours. End it?", "Session running",
                ])
        },
        Vector("E4-T2") {
            #expect(
                NotificationTexts.perDrink(sinceWater: 1, discreet: false).title
                    == "You've had 1 drink — time for water")
            #expect(
                NotificationTexts.perDrink(sinceWater: 3, discreet: false).title
                    == "You've had 3 drinks — time for water")
            #expect(
                NotificationTexts.warning(discreet: false).title
                    == "Your Waterline is high — drink water to return to center")
            let state = WaterlineState.computeState(entries("A A W"), warningThreshold: 2)
            #expect(
                NotificationTexts.live(state, nextReminder: TimeOfDay(hour: 22), discreet: false).body
                    == "Waterline 1 · 2 drinks · 1 water · next reminder 22:00")
        },
        // A12 and A8: texts and their persistence.
        Vector("A8-1") {
            #expect(ConnectionProblem(.notFound).description == "Bottle not found")
            #expect(ConnectionProblem(.notFound).hint == "Could not find bottle. Make sure it's nearby.")
            let kinds: [ConnectionProblem.Kind] = [
                .bluetoothOff, .permissionDenied, .noAdapter, .connectFailed, .unexpectedResponse, .didNotAnswer,
            ]
            #expect(
                kinds.map { ConnectionProblem($0).description } == [
                    "Bluetooth is off", "Bluetooth permission denied", "No Bluetooth adapter", "Failed to connect",
                    "Unexpected bottle response", "Bottle did not answer",
                ])
            #expect(ConnectionProblem(.connectFailed, message: "why").hint == "why")
        },
        Vector("B6-1") {
            let now = try at("2026-06-15T12:00:00")
            let ages = [-5, 0, 59, 60, 3599, 3600, 86399, 86400, 172_800].map {
                RelativeAge.text(from: now.advanced(seconds: -$0), to: now)
            }
            #expect(
                ages == [
                    "just now", "just now", "just now", "1 min ago", "59 min ago", "1 h ago", "23 h ago", "1 day ago",
                    "2 days ago",
                ])
            #expect(StatusText.short(deficitMl: 0, totalMl: 2500, goalMl: 2500) == "Goal reached! 🎉")
            #expect(StatusText.long(deficitMl: 367, totalMl: 800, goalMl: 2500) == "350 ml behind target")
            #expect(
                [1250, 1_234_567, -999, -1005].map(AmountUnits.ml.text) == [
                    "1,250 ml", "1,234,567 ml", "-999 ml", "-1,005 ml",
                ])
        },
    ]
}
