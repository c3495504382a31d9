import Foundation
import Store
import TrackerService
import Synchronization
import Testing
import TrackerCore

@Suite struct SyncLoopTests {
    /// The requests and messages of the loop.
    final class Stage: Sendable {
        struct State {
            var passed = Duration.zero
            var passes: [Int] = []
            var words: [SyncLoop.Word] = []
            var answer = SyncClient.Pass()
            var refusal: String?
        }

        let state = Mutex(State())
        let store: TrackerStore
        private let origin = ContinuousClock.now

        init() throws { store = try TrackerStore(inMemory: nil) }

        var passes: [Int] { state.withLock { $0.passes } }
        var words: [SyncLoop.Word] { state.withLock { $0.words } }

        func context() -> WriteContext {
            let seconds = state.withLock { $0.passed.components.seconds }
            return WriteContext(
                now: Instant(seconds: 1_781_526_000 + seconds), zone: .utc, source: "test",
                makeID: { UUID().uuidString.lowercased() })
        }

        /// Runs `ticks` ticks; `each` runs at the end of one.
        func run(ticks: Int, hasServer: Bool = true, each: @escaping @Sendable (Int, Stage) -> Void = { _, _ in }) async
        {
            let left = Mutex(ticks)
            let loop = SyncLoop(
                store: store, context: { self.context() }, now: { self.origin + self.state.withLock { $0.passed } },
                connect: { _ in
                    guard hasServer else { return nil }
                    return { store, _ in
                        let answer = try self.state.withLock { state in
                            state.passes.append(Int(state.passed.components.seconds))
                            if let refusal = state.refusal { throw SyncTrouble(refusal) }
                            return state.answer
                        }
                        try store.finishSyncPass(answer.merged, trouble: answer.trouble, at: self.context().now)
                        return answer
                    }
                },
                tell: { word in self.state.withLock { $0.words.append(word) } })
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
        let stage = try Stage()
        await stage.run(ticks: 46)
        #expect(stage.passes == [0, 300, 600, 900])
        #expect(stage.words.isEmpty)
    }

    @Test func `changes are reported at the next read`() async throws {
        let stage = try Stage()
        try stage.store.changeSettings([("sync.url", "http://127.0.0.1:9/sync")], stage.context())
        // The server of this test accepts no item, so a pending item is tried at each tick.
        await stage.run(ticks: 6) { tick, stage in
            if tick == 3 { _ = try? stage.store.startSession(stage.context()) }
        }
        #expect(stage.passes == [0, 60, 80, 100])
    }

    @Test func `without a server nothing is asked and nothing said`() async throws {
        let stage = try Stage()
        await stage.run(ticks: 30, hasServer: false)
        #expect(stage.passes.isEmpty && stage.words.isEmpty)
    }

    @Test func `an error is reported once until it changes or ends`() async throws {
        let stage = try Stage()
        stage.state.withLock { $0.refusal = "away" }
        await stage.run(ticks: 60) { tick, stage in
            stage.state.withLock { state in
                if tick == 20 { state.refusal = "it wants a login" }
                if tick == 40 { state.refusal = nil }
            }
        }
        let troubles = stage.words.filter { if case .trouble = $0 { true } else { false } }
        #expect(troubles.first == .trouble("away") && troubles.contains(.trouble("it wants a login")), "\(stage.words)")
        #expect(stage.words.last == .goesOn && stage.words.count { $0 == .goesOn } <= 2, "\(stage.words)")
        #expect(zip(stage.words, stage.words.dropFirst()).allSatisfy { $0 != $1 }, "the same twice: \(stage.words)")
    }

    @Test func `rejected rows are reported with their number`() async throws {
        let stage = try Stage()
        stage.state.withLock { $0.answer.merged.refused = 3 }
        await stage.run(ticks: 2)
        #expect(stage.words == [.refused(3)])
    }
}
