import Store
import Support
import Synchronization
import Testing
import TrackerCore
import TrackerService
import TrackerSupport

/// Sinks are called outside transactions, and only notifications that a user could see count.
@Suite struct DeliveryTests {
    let fixture: TrackerFixture

    init() throws { fixture = try TrackerFixture() }

    /// Ignores cancellation.
    private final class HangingSink: NotificationSink {
        let name = "hanging"
        let timeLimit = Duration.milliseconds(100)
        private let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])

        func deliver(_ notification: TrackerNotification) async -> Bool {
            await withCheckedContinuation { continuation in waiting.withLock { $0.append(continuation) } }
            return true
        }

        func end() { for continuation in waiting.withLock({ $0 }) { continuation.resume() } }
    }

    @Test func `a notification is recorded with the channels that showed it`() async throws {
        let (desktop, rejecting, broker, absent) = (
            MemorySink("desktop"), MemorySink("rejecting") { _ in false }, MemorySink("mqtt"),
            MemorySink("absent", isAvailable: false)
        )
        let report = try await fixture.tracker().deliver([desktop, rejecting, broker, absent])
        #expect(
            report.notifications.map(\.isShown) == [true] && report.unseen.isEmpty && report.state.hasNotificationServer
        )
        #expect([desktop, rejecting, broker, absent].map(\.offered) == [[.pace], [.pace], [.pace], []])
        #expect(try fixture.store.notifications().map(\.channels) == [["desktop", "mqtt"]])
        #expect(try await fixture.tracker("12:01").deliver([desktop]).notifications.isEmpty)
        #expect(try fixture.tracker("12:01").state().remindersSent == 1)
    }

    @Test func `a notification that no channel showed is not counted`() async throws {
        let rejecting = MemorySink("rejecting") { _ in false }
        for _ in 0..<3 {
            let report = try await fixture.tracker().deliver([rejecting])
            #expect(
                report.unseen.map(\.kind) == [.pace] && report.notifications.map(\.isShown) == [false]
                    && !report.state.hasNotificationServer)
        }
        let report = try await fixture.tracker().deliver([MemorySink("absent", isAvailable: false)])
        #expect(report.unseen.count == 1 && !report.state.hasNotificationServer)
        #expect(try fixture.store.notifications().isEmpty && fixture.tracker().state().remindersSent == 0)
    }

    /// The state for a broker must not say "disabled" because of a session's reminder that is private, nor count the
    /// session's changes.
    @Test func `the counters in the state do not reveal a hidden session`() async throws {
        _ = try fixture.tracker().startSession()
        for _ in 0..<2 { _ = try fixture.tracker("12:01").drink() }
        let blind = MemorySink("blind") { !$0.kind.isWaterline }
        let report = try await fixture.tracker("12:02").deliver([blind])
        #expect(
            report.unseen.contains { $0.kind.isWaterline } && report.unseen.allSatisfy { $0.kind.isWaterline },
            "\(report.unseen)")
        #expect(report.state.hasNotificationServer)
        _ = try await fixture.tracker("12:03").deliver([MemorySink("desktop")])
        let whole = try fixture.tracker("12:04").state()
        var counted = whole
        counted.syncReport.waiting = 7
        counted.sync = .pending
        var shared = counted.withoutWaterline
        #expect(
            whole.unread > shared.unread && shared.waterline == nil && shared.syncReport.waiting == 0
                && shared.sync == .idle)
        #expect(try fixture.tracker("12:04").withAccess(waterline: false).state().unread == shared.unread)
        try fixture.tracker("12:04").markNotificationsRead()
        shared.unread = 0
        #expect(try fixture.tracker("12:04").state().withoutWaterline.hasSameContent(as: shared))
    }

    @Test func `a channel that hangs does not delay delivery to others`() async throws {
        let hanging = HangingSink()
        let report = try await fixture.tracker().deliver([hanging, MemorySink("desktop")])
        #expect(report.unseen.isEmpty)
        #expect(try fixture.store.notifications().map(\.channels) == [["desktop"]])
        hanging.end()
    }

    @Test func `notifications are delivered outside transactions`() async throws {
        let folder = try TemporaryFolder()
        let (own, other) = (
            try TrackerStore(path: folder.file("waterh.sqlite")), try TrackerStore(path: folder.file("waterh.sqlite"))
        )
        let noon = try fixture.tracker().context
        let didWrite = Mutex(false)
        let sink = MemorySink("desktop") { _ in
            let drink = try? TrackerAPI(other, noon).logDrink(.ml(100))
            didWrite.withLock { $0 = drink != nil }
            return true
        }
        try await TrackerAPI(own, noon).deliver([sink])
        #expect(didWrite.withLock { $0 } && sink.offered == [.pace])
        #expect(try other.preview(noon).snapshot.remindersSent == 1)
    }

    @Test func `an evaluation without a due notification writes nothing`() async throws {
        let absent = MemorySink("absent", isAvailable: false)
        _ = try await fixture.tracker().deliver([absent])
        let before = try fixture.store.dataVersion()
        #expect(try await fixture.tracker().deliver([absent]).unseen.map(\.kind) == [.pace])
        #expect(try fixture.store.dataVersion() == before)
        _ = try fixture.store.beginDelivery(fixture.tracker().context)
        #expect(try await fixture.tracker().deliver([absent]).notifications.isEmpty)
    }

    /// Reaches the goal after half past twelve, which is one unread notification.
    private func expectUnreadGoal() async throws {
        _ = try fixture.tracker("12:30").logDrink(.ml(2000))
        _ = try fixture.tracker("12:31").logDrink(.ml(600))
        try await fixture.tracker("12:32").deliver([MemorySink("desktop")])
        #expect(try fixture.tracker("12:33").state().unread == 1, "the goal")
    }

    @Test func `unread notifications are those since the last view`() async throws {
        try await fixture.tracker("12:00").deliver([MemorySink("desktop")])
        #expect(try fixture.tracker("12:01").state().unread == 1 && fixture.tracker("11:59").state().unread == 0)
        try fixture.tracker("12:02").markNotificationsRead()
        #expect(try fixture.tracker("12:03").state().unread == 0)
        try await expectUnreadGoal()
        #expect(try fixture.tracker("2026-06-16T12:00").state().unread == 0, "a new day")
        let printed = try TrackerFixture()
        try await printed.tracker().deliver([MemorySink("output"), MemorySink("desktop")])
        #expect(try printed.tracker("12:01").state().unread == 0, "a printed notification counts as read")
    }

    @Test func `a view recorded by a fast clock does not hide later notifications`() async throws {
        try await fixture.tracker("12:00").deliver([MemorySink("desktop")])
        try fixture.tracker("2027-06-15T12:01").markNotificationsRead()
        #expect(try fixture.tracker("12:02").state().unread == 0)
        try await expectUnreadGoal()
        try fixture.tracker("12:34").markNotificationsRead()
        #expect(try fixture.tracker("12:35").state().unread == 0)
    }

    /// A10, B8: the loop sleeps until the exact second and sends the reminder once.
    @Test func `a service sends a due reminder within a second`() async throws {
        let fixture = fixture
        _ = try fixture.tracker("05:00").set([
            ("reminders.engine", "interval"), ("hydration.goalMl", "1600"), ("schedule.wake", "08:00"),
            ("schedule.sleep", "20:00"),
        ])
        let clock = Mutex(try fixture.tracker("09:20").now)
        let deliveries = Mutex<[Int64]>([])
        let end = try fixture.tracker("09:45").now
        let sink = MemorySink("desktop") { _ in
            let now = clock.withLock { $0 }
            deliveries.withLock { $0.append(now.wholeSeconds) }
            return true
        }
        // Sleeping advances the clock.
        let loop = ReminderLoop(
            sinks: [sink], tracker: { fixture.requiredTracker(clock.withLock { $0 }.description) },
            reportError: { Issue.record("\($0)") },
            sleep: { length in
                clock.withLock { $0 = $0.advanced(seconds: length / .seconds(1)) }
                await Task.yield()
            })
        let work = Task { await loop.run() }
        #expect(await eventually(within: 300) { clock.withLock { $0 } >= end })
        work.cancel()
        await work.value
        #expect(sink.offered == [.interval])
        #expect(try deliveries.withLock { $0 } == [fixture.tracker("09:30").now.wholeSeconds])
    }

    @Test func `a service reacts to changes at once and reports each error once`() async throws {
        let wall = Mutex("12:00")
        let sink = MemorySink("desktop")
        let fixture = fixture
        let pauses = Mutex<[Duration]>([])
        let loop = ReminderLoop(
            sinks: [sink], tracker: { fixture.requiredTracker(wall.withLock { $0 }) },
            reportError: { Issue.record("\($0)") },
            sleep: { length in
                pauses.withLock { $0.append(length) }
                try? await Task.sleep(for: .seconds(60))
            })
        let work = Task { await loop.run() }
        #expect(await eventually(within: 300) { sink.offered == [.pace] })
        _ = try fixture.tracker("12:01").logDrink(.ml(2000))
        _ = try fixture.tracker("12:02").logDrink(.ml(600))
        wall.withLock { $0 = "12:03" }
        await loop.checkNow()
        #expect(await eventually(within: 300) { sink.offered == [.pace, .goal] })
        work.cancel()
        await work.value
        let lengths = pauses.withLock { $0 }
        #expect(lengths.allSatisfy { $0 <= DayObserver.longestPause && $0 > .zero })
    }
}
