import Testing

@testable import TrackerCore

/// Entries of a session in the specification's shorthand: `A` one drink, `W` a water, a number a drink of that
/// estimate.
func entries(_ shorthand: String, start: Instant = Instant(seconds: 1_781_550_000), minutes: Double = 10) -> [LogEntry]
{
    let words =
        shorthand.contains(" ") || shorthand.contains(".")
        ? shorthand.split(separator: " ").map(String.init) : shorthand.map(String.init)
    return words.enumerated().map { index, word in
        let at = start.advanced(seconds: Double(index + 1) * minutes * 60)
        return LogEntry(
            id: "log\(index + 1)", sessionID: "s", timestamp: at, kind: word == "W" ? .water : .alcohol,
            standardDrinkEstimate: word == "A" ? 1 : Double(word), amountOz: word == "W" ? 8 : nil, source: .cli,
            updatedAt: at, seq: index + 1)
    }
}

/// E1: the engine and its edits. E5: gauge and texts. E7: adherence. X1: drinks from the bottle as water.
enum WaterlineVectors {
    static let table: [Vector] = engine + edits + gauge + screen + adherence + sizes + sips

    private static let engine: [Vector] =
        ([
            ("E1-01", "", 0, 0, 0, 0, 0, false), ("E1-02", "A", 1, 1, 1, 0, 1, false),
            ("E1-03", "W", -1, 0, 0, 1, 0, false),
            ("E1-04", "A W", 0, 0, 1, 1, 1, false), ("E1-05", "A A", 2, 2, 2, 0, 2, true),
            ("E1-06", "A A W", 1, 0, 2, 1, 2, false),
            ("E1-07", "A A A", 3, 3, 3, 0, 3, true), ("E1-08", "2.0", 2, 1, 1, 0, 2, true),
            ("E1-09", "2.0 W", 1, 0, 1, 1, 2, false),
            ("E1-10", "W W W", -3, 0, 0, 3, 0, false), ("E1-11", "A W A W A", 1, 1, 3, 2, 3, false),
            ("E1-12", "2.0 A W W A 2.0", 4, 2, 4, 2, 6, true), ("E1-13", "1.6 W 1.6", 2.2, 1, 2, 1, 3.2, true),
            ("E1-14", "0.6 0.7 0.7", 2, 3, 3, 0, 2, true),
        ] as [(String, String, Double, Int, Int, Int, Double, Bool)]).map {
            id, logs, value, since, drinks, waters, std, warning in
            Vector(id) {
                let logs = entries(logs)
                for order in [logs, logs.reversed()] {
                    let state = WaterlineState.computeState(order, warningThreshold: 2)
                    #expect(state.value == value && state.sinceWater == since && state.drinks == drinks)
                    #expect(state.waters == waters && state.standardDrinks == std && state.isWarning == warning)
                }
            }
        }

    private static let edits: [Vector] = [
        edited("E1-M-01", 3, 3) { $0.remove(at: 2) }, edited("E1-M-02", 1, 0) { $0.remove(at: 3) },
        edited("E1-M-03", 3, 1) { $0[0].standardDrinkEstimate = 2 },
        edited("E1-M-04", 2, 3) { $0[2].timestamp = $0[0].timestamp.advanced(seconds: -1) },
    ]

    private static func edited(
        _ id: String, _ value: Double, _ since: Int, _ change: @escaping @Sendable (inout [LogEntry]) -> Void
    ) -> Vector {
        Vector(id) {
            var logs = entries("A A W A")
            let before = WaterlineState.computeState(logs, warningThreshold: 2)
            #expect(before.value == 2 && before.sinceWater == 1)
            change(&logs)
            let after = WaterlineState.computeState(logs, warningThreshold: 2)
            #expect(after.value == value && after.sinceWater == since)
        }
    }

    private static let gauge = Vector.numbered(
        "E5-G",
        [
            (-3, 0.25, false), (0, 0.5, false), (1, 0.5833, false), (2, 0.6667, true), (3, 0.75, true),
            (5, 0.9167, true), (7.5, 1, nil), (-7, 0, nil),
        ] as [(Double, Double, Bool?)]
    ) { value, position, warning in
        let logs =
            value < 0 ? entries(String(repeating: "W", count: Int(-value))) : value == 0 ? [] : entries("\(value)")
        let state = WaterlineState.computeState(logs, warningThreshold: 2)
        #expect(state.value == value)
        #expect(abs(state.gauge - position) < 0.00005)
        if let warning { #expect(state.isWarning == warning) }
    }

    private static let screen: [Vector] = [
        Vector("E5-1") {
            let state = WaterlineState.computeState(entries("A A"), warningThreshold: 2)
            #expect(state.waterDueIn(everyNDrinks: 3) == 1)
            #expect(state.waterDueText(everyNDrinks: 3) == "Water due in: 1 drink")
            #expect(state.waterDueText(everyNDrinks: 5) == "Water due in: 3 drinks")
            #expect(state.waterDueText(everyNDrinks: 2) == "Water due now")
            #expect(state.waterDueText(everyNDrinks: 1) == "Water due now")
        },
        Vector("E5-2") {
            let session = WaterlineSession(id: "s", userID: "u", startTime: try local("2026-06-15 21:00"))
            let facts = TrackerFacts(zone: try Zone("Europe/Berlin"), waterline: WaterlineFacts(session: session))
            let snapshot = Tracker.evaluate(facts, now: try local("2026-06-15 21:32:30")).snapshot.waterline
            #expect(snapshot?.nextReminderText == "7:30")
            #expect(
                Tracker.evaluate(facts, now: try local("2026-06-15 22:20:01")).snapshot.waterline?.nextReminderText
                    == nil)
        },
        Vector("E6-1") {
            let start = try local("2026-06-15 21:00")
            let summary = SessionSummary(
                logs: [], start: start, end: start.advanced(seconds: 59), everyNDrinks: 1, warningThreshold: 2)
            #expect(summary.durationText == "0m" && summary.adherencePercent == nil && summary.finalValue == 0)
            #expect(summary.drinks == 0 && summary.waters == 0 && summary.standardDrinks == 0 && summary.waterOz == 0)
            #expect(SessionSummary.text(3 * 3600 + 25 * 60 + 59) == "3h 25m")
        },
    ]

    private static let adherence = Vector.numbered(
        "E7",
        [
            ("", 1, 0, 0, nil), ("W", 1, 0, 0, nil), ("A", 1, 0, 1, 0), ("AW", 1, 1, 0, 100), ("AAW", 1, 1, 1, 50),
            ("AWA", 1, 1, 1, 50),
            ("AWAW", 1, 2, 0, 100), ("AAAA", 1, 0, 4, 0), ("AWAAWAW", 1, 3, 1, 75), ("AAAWW", 1, 1, 2, 33),
            ("A", 2, 0, 0, nil),
            ("AAW", 2, 1, 0, 100), ("AWAW", 2, 2, 0, 100), ("AA", 2, 0, 1, 0), ("AAA", 2, 0, 1, 0),
            ("AAAW", 2, 1, 1, 50),
            ("AAAAW", 2, 1, 1, 50), ("AAAWAAW", 3, 2, 0, 100),
        ] as [(String, Int, Int, Int, Int?)]
    ) { logs, rule, met, missed, percent in
        let adherence = Adherence(entries(logs).map(\.kind), everyNDrinks: rule)
        #expect(adherence.met == met && adherence.missed == missed && adherence.percent == percent)
    }

    private static let sizes: [Vector] = [
        Vector("E2-1") {
            #expect([8, 12, 16].map(Ounces.millilitres) == [237, 355, 473])
            #expect(StandardDrinks.estimate(sizeOz: 16, abvPercent: 5) == 1.333)
            #expect(StandardDrinks.estimate(sizeOz: 19.2, abvPercent: 5) == 1.6)
            #expect(StandardDrinks.estimate(sizeOz: 6, abvPercent: 12) == 1.2)
            #expect(StandardDrinks.estimate(sizeOz: 1.5, abvPercent: 40) == 1)
        },
        Vector("E2-2") {
            var made = 0
            let presets = DrinkPreset.defaults(userID: "u") {
                made += 1
                return "p\(made)"
            }
            #expect(presets.map(\.name) == ["Beer", "Glass of Wine", "Shot", "Cocktail", "Double"])
            #expect(presets.map(\.sizeOz) == [12, 5, 1.5, nil, 3])
            #expect(presets.map(\.standardDrinkEstimate) == [1, 1, 1, 1, 2])
        },
    ]

    private static let sips = Vector.numbered(
        "X1",
        [
            ([16], [0], 16), ([236], [0], 236), ([237], [1], 0), ([120, 117], [0, 1], 0),
            ([100, 100, 100, 200, 255], [0, 0, 1, 1, 1], 44), ([255, 255], [1, 1], 36),
            ([240, 240, 240], [1, 1, 1], 9),
        ] as [([Int], [Int], Int)]
    ) { amounts, waters, carry in
        let session = WaterlineSession(id: "s", userID: "u", startTime: try local("2026-06-15 21:00"))
        let sips = amounts.enumerated().map {
            Sip(key: "k\($0)", at: session.startTime.advanced(seconds: Double($0 * 60)), ml: $1)
        }
        let water = BottleWater(
            sips: sips.reversed(), session: session, now: try local("2026-06-15 23:00"), mode: .accumulate,
            defaultWaterOz: 8)
        #expect(sips.map { sip in water.logs.count { $0.timestamp == sip.at } } == waters)
        #expect(water.carryMl == carry)
    }
}
