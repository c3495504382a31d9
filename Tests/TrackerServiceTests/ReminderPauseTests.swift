import Store
import Testing
import TrackerCore
import TrackerService
import TrackerSupport

@Suite struct ReminderPauseTests {
    private let fixture: TrackerFixture
    private let screen = MemorySink("desktop")

    init() throws { fixture = try TrackerFixture() }

    private func deliver(_ wall: String, hold: ReminderHold? = nil) async throws {
        var tracker = try fixture.tracker(wall)
        tracker.context.reminderHold = hold
        try await tracker.deliver([screen])
    }

    @Test func `a reminder closes when the user snoozes it, and comes again after 30 minutes`() async throws {
        try await deliver("12:00")
        #expect(screen.shown["hydration-reminder"] != nil)
        let report = try fixture.tracker("12:05").snooze(.minutes(30))
        let end = try fixture.tracker("12:35").now
        #expect(report.until == end && report.state.snoozedUntil == end)
        for wall in ["12:05", "12:20", "12:34"] { try await deliver(wall) }
        #expect(screen.kinds == [.pace] && screen.shown.isEmpty)
        try await deliver("12:35")
        #expect(screen.kinds == [.pace, .pace])
        #expect(try fixture.tracker("12:36").state().snoozedUntil == nil)
    }

    @Test func `no reminder comes until the next day when the user snoozes until tomorrow`() async throws {
        #expect(try fixture.tracker("12:00").press(.notToday, key: "1"))
        for wall in ["12:01", "18:00", "21:59"] { try await deliver(wall) }
        #expect(screen.delivered.isEmpty)
        try await deliver("2026-06-16T12:00")
        #expect(screen.kinds == [.pace])
    }

    @Test func `reminders continue at once when the user ends the pause`() async throws {
        _ = try fixture.tracker("12:00").snooze(.tomorrow)
        #expect(try fixture.tracker("12:01").snooze(.minutes(0)).until == nil)
        try await deliver("12:02")
        #expect(screen.kinds == [.pace])
    }

    @Test(arguments: [-1, 1441]) func `a snooze is refused when its length is out of range`(minutes: Int) throws {
        #expect(throws: Refusal.self) { try fixture.tracker().snooze(.minutes(minutes)) }
        #expect(try fixture.tracker().state().snoozedUntil == nil)
    }

    @Test func `a snooze needs exactly one of minutes and until`() throws {
        #expect(try Snooze(minutes: 30, until: nil) == .minutes(30))
        #expect(try Snooze(minutes: nil, until: "tomorrow") == .tomorrow)
        for (minutes, until) in [(nil, nil), (30, "tomorrow"), (nil, "monday")] as [(Int?, String?)] {
            #expect(throws: WrongInput.self) { try Snooze(minutes: minutes, until: until) }
        }
    }

    @Test func `no reminder comes before the first poll of a service has ended`() async throws {
        try await deliver("12:00", hold: .firstPoll)
        #expect(screen.delivered.isEmpty)
        try await deliver("12:01")
        #expect(screen.kinds == [.pace])
    }

    @Test func `no hydration notification comes before setup is finished`() async throws {
        _ = try fixture.tracker("11:00").logDrink(.ml(2000))
        _ = try fixture.tracker("11:00").logDrink(.ml(1000))
        try await deliver("12:00", hold: .setup)
        #expect(screen.delivered.isEmpty)
        try await deliver("12:01")
        #expect(screen.kinds == [.goal])
    }

    @Test func `notifications that were due while the desktop was off are never shown on it`() async throws {
        let late = { (wall: String) in BufferedSink(screen, tracker: { [fixture] in try fixture.tracker(wall) }) }
        let phone = MemorySink("phone")
        _ = try fixture.tracker("11:00").set([("notify.desktop", "false")])
        try await fixture.tracker("12:00").deliver([late("12:00"), phone])
        #expect(screen.delivered.isEmpty)
        _ = try fixture.tracker("12:01").set([("notify.desktop", "true")])
        try await fixture.tracker("12:02").deliver([late("12:02"), phone])
        #expect(screen.delivered.isEmpty)
        try await fixture.tracker("2026-06-16T12:00").deliver([late("2026-06-16T12:00"), phone])
        #expect(screen.kinds == [.pace])
    }

    @Test func `a Waterline notification closes when its reason is gone`() async throws {
        _ = try fixture.tracker("20:00").set([("waterline.discreet", "false")])
        _ = try fixture.tracker("20:00").startSession()
        for wall in ["20:01", "20:02"] { _ = try fixture.tracker(wall).drink() }
        try await deliver("20:03")
        #expect(screen.shown.keys.contains("waterline-warning") && screen.shown.keys.contains("waterline-per-drink"))
        for wall in ["20:04", "20:05", "20:06"] { _ = try fixture.tracker(wall).water() }
        try await deliver("20:07")
        #expect(screen.shown.keys.filter { $0.hasPrefix("waterline-") && $0 != "waterline-live" } == [])
    }

    @Test func `a time reminder closes when water is logged`() async throws {
        _ = try fixture.tracker("20:00").startSession()
        _ = try fixture.tracker("20:01").water()
        try await deliver("20:20")
        #expect(screen.shown.keys.contains("waterline-time"))
        _ = try fixture.tracker("20:21").water()
        try await deliver("20:22")
        #expect(!screen.shown.keys.contains("waterline-time"))
    }
}
