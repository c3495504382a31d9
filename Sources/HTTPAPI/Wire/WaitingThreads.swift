import Foundation

/// Threads that may wait for the store's file. Swift's own are as many as processors: a few writes that wait for another process would
/// take all of them, and with them every other answer. Dispatch adds one thread a second while all of its own wait: with sixteen writes waiting, an answer that
/// needs no store took longer than eight seconds.
///
/// A thread is begun when a job finds none that is free, and ends when it has had nothing to do for a while.
final class WaitingThreads: TaskExecutor {
    static let shared = WaitingThreads()

    /// Where so many wait already, what comes waits for one of them. A write waits for its store 5 s at the most.
    private static let most = 256
    /// Seconds that a thread without work stays.
    private static let patience: TimeInterval = 10

    /// Guards `state`, and wakes a thread that is free.
    private let condition = NSCondition()
    nonisolated(unsafe) private var state = State()

    private struct State {
        /// In the order in which they came; those before `next` were taken.
        var jobs: [UnownedJob] = []
        var next = 0
        var threads = 0
        var free = 0

        var waiting: Int { jobs.count - next }

        mutating func take() -> UnownedJob? {
            guard waiting > 0 else { return nil }
            let job = jobs[next]
            next += 1
            if waiting == 0 || next >= 256 {
                jobs.removeFirst(next)
                next = 0
            }
            return job
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        condition.lock()
        defer { condition.unlock() }
        state.jobs.append(job)
        if state.waiting <= state.free {
            condition.signal()
        } else if state.threads < Self.most {
            state.threads += 1
            let thread = Thread { self.work() }
            thread.name = "http"
            thread.start()
        }
    }

    private func work() {
        while let job = next() { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// The next job; `nil`: this thread is not needed any more.
    private func next() -> UnownedJob? {
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let job = state.take() { return job }
            state.free += 1
            let wasWoken = condition.wait(until: Date(timeIntervalSinceNow: Self.patience))
            state.free -= 1
            if !wasWoken, state.waiting == 0 {
                state.threads -= 1
                return nil
            }
        }
    }
}
