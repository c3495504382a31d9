import Foundation
import Store
import Synchronization
import Testing
import TrackerCore
import TrackerService
import TrackerSupport

@Suite struct SyncLoopTests {
    /// The requests and messages of the loop.
    final class Rig: Sendable {
        struct State {
            var passed = Duration.zero
            var passes: [Int] = []
            var answer = SyncClient.Pass()
        }

        let state = Mutex(State())
        let store: TrackerStore
        private let log = LogLines()
        private let origin = ContinuousClock.now

        init() throws { store = try TrackerStore(inMemory: nil) }

        var passes: [Int] { state.withLock { $0.passes } }
        var events: [String] { log.all }

        func now() -> WriteContext { context(1_781_526_000 + state.withLock { $0.passed.components.seconds }) }

        /// Runs `ticks` ticks; `each` runs at the end of one.
        func run(ticks: Int, hasServer: Bool = true, each: @escaping @Sendable (Int, Rig) -> Void = { _, _ in }) async {
            let left = Mutex(ticks)
            let loop = SyncLoop(
                tracker: { TrackerAPI(self.store, self.now()) },
                now: { self.origin + self.state.withLock { $0.passed } },
                exchange: { tracker in
                    guard hasServer else { return nil }
                    let answer = self.state.withLock { state in
                        state.passes.append(Int(state.passed.components.seconds))
                        return state.answer
                    }
                    try tracker.store.finishSyncPass(answer.merged, problem: answer.problem)
                    return answer
                },
                log: log.logger)
            await loop.run { pause in
                #expect(pause == SyncLoop.tick)
                self.state.withLock { $0.passed += pause }
                let rest = left.withLock { left in
                    left -= 1
                    return left
                }
                each(ticks - rest, self)
                return rest > 0
            }
        }
    }

    @Test func `the first request is immediate and later ones come every five minutes`() async throws {
        let rig = try Rig()
        await rig.run(ticks: 46)
        #expect(rig.passes == [0, 300, 600, 900])
        #expect(rig.events.isEmpty)
    }

    @Test func `a change is sent at the next tick`() async throws {
        let rig = try Rig()
        try rig.store.changeSettings([("sync.url", "http://127.0.0.1:9/sync")], rig.now())
        // The server of this test accepts no item, so a pending item is tried at each tick.
        await rig.run(ticks: 6) { tick, rig in
            if tick == 3 { _ = try? rig.store.startSession(rig.now()) }
        }
        #expect(rig.passes == [0, 60, 80, 100])
    }

    @Test func `without a server no request is sent and no message is written`() async throws {
        let rig = try Rig()
        await rig.run(ticks: 30, hasServer: false)
        #expect(rig.passes.isEmpty && rig.events.isEmpty)
    }

    @Test func `an error is reported once until it changes or ends`() async throws {
        let rig = try Rig()
        rig.state.withLock { $0.answer.problem = "down" }
        await rig.run(ticks: 60) { tick, rig in
            rig.state.withLock { state in
                if tick == 20 { state.answer.problem = "it wants a login" }
                if tick == 40 { state.answer.problem = nil }
            }
        }
        #expect(rig.events.first == "Sync: down" && rig.events.contains("Sync: it wants a login"), "\(rig.events)")
        let end = "Sync continues."
        #expect(rig.events.last == end && rig.events.count { $0 == end } <= 2, "\(rig.events)")
        #expect(zip(rig.events, rig.events.dropFirst()).allSatisfy { $0 != $1 }, "the same twice: \(rig.events)")
    }

    @Test func `a message contains the number of rejected rows`() async throws {
        let rig = try Rig()
        rig.state.withLock { $0.answer.merged.rejected = 3 }
        await rig.run(ticks: 2)
        #expect(rig.events == ["3 rows of the sync server could not be stored. See: waterh-tracker check --doctor"])
    }
}
