import Dispatch
import Support
import Synchronization
import Testing

@testable import WebServer

/// What waits for a store's file takes no thread from what does not.
@Suite struct WaitingThreadsTests {
    /// An adversary's finding: 16 writes for a store that another process held, and `/healthz` had no answer in 8 s. As
    /// a write does, a job here waits for some seconds and gives up: nobody may have done so before the last one has
    /// begun.
    @Test func whatNeedsNoStoreRunsHoweverManyWait() async throws {
        let (isOver, begun, gaveUp) = (DispatchSemaphore(value: 0), Counter(), Counter())
        let waiting = (0..<60).map { _ in
            Task(executorPreference: WaitingThreads.shared) {
                begun.add()
                if !waits(isOver) { gaveUp.add() }
            }
        }
        let answer = Task(executorPreference: WaitingThreads.shared) { begun.add() }
        _ = await event(within: 60) { begun.count == 61 ? true : nil }
        for _ in waiting { isOver.signal() }
        for task in waiting { await task.value }
        await answer.value
        #expect(begun.count == 61 && gaveUp.count == 0, "\(gaveUp.count) gave up before all had begun")
    }

    /// Each job runs once, whoever brings it, and whatever order threads come and go in.
    @Test func everyJobRunsOnce() async {
        let ran = Counter()
        await withTaskGroup { group in
            for _ in 0..<50 {
                group.addTask(executorPreference: WaitingThreads.shared) {
                    for _ in 0..<200 {
                        ran.add()
                        await Task.yield()
                    }
                }
            }
        }
        #expect(ran.count == 10_000)
    }
}

private func waits(_ semaphore: DispatchSemaphore) -> Bool { semaphore.wait(timeout: .now() + 15) == .success }

private final class Counter: Sendable {
    private let sum = Mutex(0)

    var count: Int { sum.withLock { $0 } }

    func add() { sum.withLock { $0 += 1 } }
}
