import Store
import Synchronization
import Testing
import TrackerCore
import TrackerService
import TrackerSupport

/// Tracker spec C: a desktop that was unavailable shows earlier notifications in order if they still apply. The others
/// are on its list of missed ones.
@Suite final class BufferedSinkTests: Sendable {
    private let fixture: TrackerFixture
    private let (desktop, phone) = (MemorySink("desktop"), MemorySink("phone"))
    private let now = Mutex("06:00")
    /// The notifications in the desktop's own file.
    private let remembered = Mutex<Set<String>>([])

    init() async throws {
        fixture = try TrackerFixture()
        // The desktop is known from now on.
        try await look("06:00")
    }

    /// Delivers what is due to phone and desktop.
    private func look(_ wall: String, isAvailable: Bool = true) async throws {
        now.withLock { $0 = wall }
        desktop.isAvailable = isAvailable
        let sink = BufferedSink(
            desktop, tracker: { [self] in try fixture.tracker(now.withLock { $0 }) },
            wasShown: { [self] one in remembered.withLock { $0.contains(one.notificationId) } })
        try await fixture.tracker(wall).deliver([sink, phone])
    }

    private func missed() throws -> [String: String] {
        try fixture.store.notifications().reduce(into: [:]) { $0[$1.id] = $1.missed["desktop"] }
    }

    @Test func `a missed notification is shown once when the desktop returns and it is still valid`() async throws {
        try await look("08:00", isAvailable: false)
        #expect(phone.kinds == [.pace] && desktop.delivered.isEmpty)
        try await look("08:20")
        #expect(desktop.delivered == phone.delivered && phone.delivered.count == 1)
        #expect(try fixture.store.notifications().map(\.channels) == [["phone", "desktop"]] && missed().isEmpty)
        try await look("08:21")
        #expect(desktop.delivered.count == 1)
    }

    @Test func `a missed notification is skipped after a later one of its kind or a drink`() async throws {
        try await look("08:00", isAvailable: false)
        try await look("11:00", isAvailable: false)
        try await look("11:01")
        #expect(
            desktop.delivered == [phone.delivered[1]] && phone.kinds == [.pace, .pace],
            "only the red reminder is shown, not the earlier amber one")
        #expect(try missed() == [phone.delivered[0].notificationId: "replaced"])
        _ = try fixture.tracker("11:30").logDrink(.ml(300))
        try await look("13:30", isAvailable: false)
        #expect(phone.delivered.count == 3)
        _ = try fixture.tracker("13:40").logDrink(.ml(300))
        try await look("13:41")
        #expect(desktop.delivered.count == 1)
        #expect(try missed()[phone.delivered[2].notificationId] == "answered")
    }

    @Test func `a notification counts as shown when the process was killed after showing it`() async throws {
        try await look("08:00", isAvailable: false)
        _ = try fixture.tracker("08:10").logDrink(.ml(300))
        remembered.withLock { $0 = Set(phone.delivered.map(\.notificationId)) }
        try await look("08:11")
        #expect(desktop.delivered.isEmpty && phone.delivered.count == 1)
        #expect(try fixture.store.notifications().map(\.channels) == [["phone", "desktop"]] && missed().isEmpty)
    }

    @Test func `a missed notification is not shown on the next day or in quiet hours`() async throws {
        try await look("21:00", isAvailable: false)
        try await look("22:30")
        #expect(try missed() == ["hydration-reminder/2026-06-15/1": "quietHours"])
        _ = try fixture.tracker("23:00").logDrink(.ml(2000))
        _ = try fixture.tracker("23:00").logDrink(.ml(600))
        try await look("23:01", isAvailable: false)
        try await look("2026-06-16T07:00")
        #expect(desktop.delivered.isEmpty && phone.kinds == [.pace, .goal])
        #expect(try missed()["hydration-goal-reached/2026-06-15/1"] == "over")
    }

    @Test func `a missed session reminder is shown while the session runs and no water was logged`() async throws {
        _ = try fixture.tracker("06:30").set([
            ("waterline.discreet", "false"), ("reminders.enabled", "false"), ("waterline.warningThreshold", "2"),
        ])
        _ = try fixture.tracker("20:00").startSession()
        _ = try fixture.tracker("20:05").drink()
        _ = try fixture.tracker("20:06").drink()
        try await look("20:07", isAvailable: false)
        #expect(phone.kinds == [.waterlinePerDrink, .waterlineWarning, .waterlineLive])
        try await look("20:08")
        #expect(try desktop.kinds == phone.kinds && missed().isEmpty)
        _ = try fixture.tracker("20:10").drink()
        try await look("20:11", isAvailable: false)
        for minute in ["20:12", "20:13", "20:14"] { _ = try fixture.tracker(minute).water() }
        try await look("20:15")
        #expect(try missed().contains { $0.key.hasPrefix("waterline-per-drink") && $0.value == "answered" })
        _ = try fixture.tracker("20:20").drink()
        try await look("20:21", isAvailable: false)
        _ = try fixture.tracker("20:22").endSession()
        let before = desktop.delivered.count
        try await look("20:23")
        #expect(desktop.delivered.count == before)
        #expect(try missed().contains { $0.key.hasPrefix("waterline-per-drink") && $0.value == "over" })
    }

    @Test func `do not disturb delays notifications except urgent ones`() async throws {
        desktop.accept { $0.urgency == .critical }
        try await look("08:00")
        #expect(phone.kinds == [.pace] && desktop.delivered.isEmpty)
        desktop.accept { _ in true }
        try await look("08:10")
        #expect(desktop.delivered == phone.delivered)
        // Back on track is delayed; then the red deficit ends.
        _ = try fixture.tracker("08:11").set([("reminders.backOnTrack", "true")])
        desktop.accept { $0.urgency == .critical }
        _ = try fixture.tracker("08:15").logDrink(.ml(250))
        try await look("08:16")
        #expect(phone.kinds == [.pace, .recovery] && desktop.delivered.count == 1)
        try await look("12:00")
        #expect(desktop.delivered.count == 2 && desktop.delivered[1] == phone.delivered[2])
        #expect(try missed()["hydration-back-on-track/2026-06-15/1"] == "over", "the day is behind pace again")
    }

    @Test func `an evaluation does not wait for the missed notifications of a broker`() async throws {
        let broker = MemorySink("mqtt")
        func sink(_ wall: String) -> BufferedSink {
            BufferedSink(
                broker, CatchUpRule(skipsOutdated: false, sharesWaterline: { true }),
                tracker: { [fixture] in try fixture.tracker(wall) })
        }
        #expect(await sink("06:00").deliverMissed())
        try await fixture.tracker("08:00").deliver([phone])
        #expect(phone.delivered.count == 1)
        try await fixture.tracker("08:01").deliver([sink("08:01"), phone])
        #expect(broker.delivered.isEmpty)
        #expect(await sink("08:02").deliverMissed())
        #expect(broker.delivered == phone.delivered)
    }

    @Test func `a new channel gets no earlier notifications`() async throws {
        let other = try TrackerFixture()
        let (late, first) = (MemorySink("desktop", isAvailable: false), MemorySink("phone"))
        try await other.tracker("08:00").deliver([BufferedSink(late, tracker: { try other.tracker("08:00") }), first])
        late.isAvailable = true
        try await other.tracker("08:01").deliver([BufferedSink(late, tracker: { try other.tracker("08:01") }), first])
        #expect(first.delivered.count == 1 && late.delivered.isEmpty)
    }
}
