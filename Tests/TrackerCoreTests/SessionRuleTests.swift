import Testing

@testable import TrackerCore

/// E3: the changes that each state permits, and the state after the end.
@Suite struct SessionRuleTests {
    private let start = Instant(seconds: 1_781_550_000)
    private var session: WaterlineSession { WaterlineSession(id: "s", userID: "u", startTime: start) }

    private func refusal(_ session: WaterlineSession, _ log: LogEntry, after seconds: Double = 3600) -> WaterlineSession
        .Refusal?
    {
        do throws(WaterlineSession.Refusal) {
            try session.checkEdit(log, now: start.advanced(seconds: seconds))
            return nil
        } catch {
            return error
        }
    }

    @Test func `an entry is not changed to a time outside the session`() {
        var log = entries("A", start: start)[0]
        #expect(refusal(session, log) == nil)
        log.timestamp = start
        #expect(refusal(session, log) == nil)
        log.timestamp = start.advanced(seconds: -1)
        #expect(refusal(session, log) == .outsideSession)
        log.timestamp = start.advanced(seconds: 3601)
        #expect(refusal(session, log) == .outsideSession)
        log.timestamp = start
        log.standardDrinkEstimate = 10.1
        #expect(refusal(session, log) == .estimate)
        log.source = .bottle
        #expect(refusal(session, log) == .derived)
        var sealed = session
        sealed.sealed = true
        #expect(refusal(sealed, log) == .sealed)
    }

    @Test func `ending a session stores its summary and rule`() throws {
        var settings = Settings()
        try settings.set("waterline.waterEveryNDrinks", to: "2")
        var ended = session
        let logs = entries("A A W A", start: start)
        ended.end(at: start.advanced(seconds: 12_300), logs: logs, settings: settings)
        #expect(!ended.isActive && ended.ruleN == 2)
        #expect(ended.computedSummary?.durationText == "3h 25m")
        #expect(
            ended.computedSummary?.drinks == 3 && ended.computedSummary?.waters == 1
                && ended.computedSummary?.waterOz == 8)
        #expect(ended.computedSummary?.finalValue == 2 && ended.computedSummary?.adherencePercent == 100)
        // An edit or a late drink recomputes it with the rule at its end.
        ended.sealed = true
        ended.summarise(Array(logs.dropLast()), warningThreshold: 2)
        #expect(ended.computedSummary?.drinks == 2)
        // Never before the start.
        var backwards = session
        backwards.end(at: start.advanced(seconds: -5), logs: [], settings: settings)
        #expect(backwards.endTime == start && backwards.computedSummary?.durationText == "0m")
    }

    @Test func `the state contains no session after its end`() throws {
        let facts = TrackerFacts(zone: .utc)
        let closes = Tracker.evaluate(facts, now: start).idsToClose
        for kind in NotificationKind.allCases where kind.id.hasPrefix("waterline") { #expect(closes.contains(kind.id)) }
    }
}
