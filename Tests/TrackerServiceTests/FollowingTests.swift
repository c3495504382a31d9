import Foundation
import Store
import Support
import Synchronization
import Testing
import TrackerCore

@testable import TrackerService
import TrackerSupport

/// The state is read when the store was written and when time changes it, and not otherwise.
@Suite(.timeLimit(.minutes(3)))
struct FollowingTests {
    /// A pause that a test ends.
    private final class Pauses: Sendable {
        private let asked = Mutex<[Duration]>([])
        var all: [Duration] { asked.withLock { $0 } }

        /// Returns at once for a short time, otherwise on cancellation.
        func sleep(_ length: Duration) async {
            asked.withLock { $0.append(length) }
            if length >= .seconds(30) { try? await Task.sleep(for: .seconds(3600)) }
        }
    }

    @Test func `a write causes a few checks with growing pauses`() async throws {
        let (writes, write) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let pauses = Pauses()
        let looks = Mutex(0)
        let follower = DayObserver(writes: writes, sleep: { await pauses.sleep($0) }) {
            looks.withLock { $0 += 1 }
            return .seconds(45)
        }
        let work = Task { await follower.run() }
        #expect(await eventually(within: 60) { pauses.all == [.seconds(45)] }, "\(pauses.all)")
        #expect(looks.withLock { $0 } == 1)
        write.yield()
        #expect(await eventually(within: 60) { pauses.all.count { $0 == .seconds(45) } == 2 }, "\(pauses.all)")
        #expect(pauses.all.contains(.milliseconds(1200)) && (9...11).contains(looks.withLock { $0 }), "\(pauses.all)")
        work.cancel()
        await work.value
    }

    @Test func `changes by another process are detected at once`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("s.sqlite")
        let noon = try TrackerFixture().tracker().context
        @Sendable func tracker(_ store: TrackerStore) -> TrackerAPI {
            TrackerAPI(store, .test(at: noon.now, zone: noon.zone))
        }
        let (store, other, third) = (
            try TrackerStore(path: path), try TrackerStore(path: path), try TrackerStore(path: path)
        )
        _ = try tracker(store).set([("reminders.enabled", "false")])
        let sink = MemorySink("desktop")
        let looks = Mutex(0)
        let loop = ReminderLoop(
            sinks: [sink], tracker: { tracker(store) }, reportError: { _ in },
            sleep: { _ in
                looks.withLock { $0 += 1 }
                // A service retries within a minute: a claim that the other one held delays it that long.
                try? await Task.sleep(for: .seconds(3))
            })
        // A loop without a working sink, on the same store.
        let rejecting = ReminderLoop(
            sinks: [MemorySink("rejecting") { _ in false }], tracker: { tracker(third) }, reportError: { _ in },
            sleep: { _ in try? await Task.sleep(for: .seconds(3600)) })
        let watches = (try #require(StoreWatch(path)), try #require(StoreWatch(path)))
        let work = [
            Task { await loop.run() }, Task { await loop.follow(watches.0.writes) }, Task { await rejecting.run() },
            Task { await rejecting.follow(watches.1.writes) },
        ]
        #expect(await eventually(within: 60) { looks.withLock { $0 } > 0 })
        _ = try tracker(other).startSession()
        _ = try tracker(other).drink()
        #expect(
            await eventually(within: 60) { Set(sink.offered) == [.waterlineLive, .waterlinePerDrink] },
            "\(sink.offered)")
        // Writes about the delivery itself must not wake the loops endlessly.
        #expect(await !eventually(within: 1) { looks.withLock { $0 } > 20 }, "\(looks.withLock { $0 }) looks")
        for task in work { task.cancel() }
    }
}
