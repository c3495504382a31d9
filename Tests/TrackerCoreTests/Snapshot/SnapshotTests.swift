import Foundation
import Testing

@testable import TrackerCore

@Suite struct SnapshotTests {
    private func evaluation(_ drinks: [(String, Int)] = [], at now: String, settings: Settings = Settings()) throws
        -> Evaluation
    {
        let zone = try Zone("Europe/Berlin")
        let calendar = DayCalendar(zone: zone)
        let facts = TrackerFacts(
            settings: settings, zone: zone,
            drinks: try drinks.enumerated().map { index, drink in
                let at = try local("2026-06-15 \(drink.0)")
                return Drink(key: "k\(index)", at: at, calendar: calendar, ml: drink.1, source: .bottle, updatedAt: at)
            })
        return Tracker.evaluate(facts, now: try local("2026-06-15 \(now)"))
    }

    private func json(_ value: some Encodable) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: JSONEncoder().encode(value)) as? [String: Any])
    }

    @Test func `the state payload has every field`() throws {
        let object = try json(evaluation([("10:00", 800)], at: "14:00").snapshot)
        let fields = [
            "dailyTotalMl", "dailyGoalMl", "lastDrinkTime", "urgency", "deficitMl", "timestamp", "shouldNotify",
            "notificationType", "notificationTitle", "notificationBody", "paceBalanceMl", "displayUrgency",
            "expectedMl", "progress", "percent", "isGoalAchieved", "statusText", "notificationId", "dayKey", "schema",
            "state", "isAlerting", "timeUntilNext", "waterline", "phase", "dueTime", "sync",
        ]
        for field in fields { #expect(object[field] != nil, "\(field) is missing") }
        #expect(object["dailyTotalMl"] as? Int == 800)
        #expect(object["expectedMl"] as? Int == 1167)
        #expect(object["deficitMl"] as? Int == 367)
        #expect(object["urgency"] as? Int == 1)
        #expect(object["statusText"] as? String == "350ml to catch up")
        #expect(object["shouldNotify"] as? Bool == false)
        #expect(object["dayKey"] as? String == "2026-06-15")
        #expect((object["state"] as? [String: Any])?["totalMl"] as? Int == 800)
    }

    @Test func `the countdown is null after the goal`() throws {
        let object = try json(evaluation([("10:00", 2500)], at: "14:00").snapshot)
        #expect(object["timeUntilNext"] is NSNull)
        #expect(object["dueTime"] is NSNull)
        #expect(object["phase"] as? String == "goalReached")
    }

    /// B6: the second fill is at expected / goal while the rounded deficit is shown, and absent otherwise. At 10:00 500
    /// of 2500 are expected.
    @Test(arguments: [(0, 0.2), (475, 0.2), (476, nil), (500, nil), (900, nil), (2500, nil)] as [(Int, Double?)])
    func `the target fill is the expected intake divided by the goal`(total: Int, height: Double?) throws {
        let snapshot = try evaluation([("09:00", total)], at: "10:00").snapshot
        #expect(snapshot.targetProgress == height && snapshot.behindText.hasSuffix("behind target") == (height != nil))
        // In the evening it is at most full.
        let evening = try evaluation([("09:00", total)], at: "22:30").snapshot
        #expect(evening.targetProgress == (total < 2476 ? 1 : nil))
    }
}
