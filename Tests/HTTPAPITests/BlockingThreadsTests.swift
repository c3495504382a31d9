import Dispatch
import Support
import Synchronization
import Testing

@testable import WebServer

@Suite struct BlockingThreadsTests {
    @Test func `a request is answered while 31 others wait for the store`() async throws {
        let (isOver, begun, gaveUp) = (DispatchSemaphore(value: 0), Counter(), Counter())
        let waiting = (0..<BlockingThreads.count - 1).map { _ in
            Task(executorPreference: BlockingThreads.shared) {
                begun.add()
                if !waits(isOver) { gaveUp.add() }
            }
        }
        let answer = Task(executorPreference: BlockingThreads.shared) { begun.add() }
        _ = await event(within: 60) { begun.count == BlockingThreads.count ? true : nil }
        for _ in waiting { isOver.signal() }
        for task in waiting { await task.value }
        await answer.value
        #expect(
            begun.count == BlockingThreads.count && gaveUp.count == 0, "\(gaveUp.count) gave up before all had begun")
    }
}

private func waits(_ semaphore: DispatchSemaphore) -> Bool { semaphore.wait(timeout: .now() + 15) == .success }

private final class Counter: Sendable {
    private let sum = Mutex(0)

    var count: Int { sum.withLock { $0 } }

    func add() { sum.withLock { $0 += 1 } }
}
