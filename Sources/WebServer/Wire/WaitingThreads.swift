import Foundation

/// Threads that may wait for the store's file. Swift's own are as many as processors: a few writes that wait for
/// another process would take all of them, and with them every other answer. Dispatch adds one thread a second while
/// all of its own wait: with sixteen writes waiting, an answer that needs no store took longer than eight seconds.
///
/// As many work as there are processors: what comes waits a moment for one of them, since a thread woken for each job
/// costs more than the job. Where no job is begun for `stuck`, all who work are taken to wait for something, and as
/// many more may work as there are jobs.
final class WaitingThreads: TaskExecutor {
    static let shared = WaitingThreads()

    /// Where so many wait already, what comes waits for one of them. A write waits for its store 5 s at the most.
    private static let most = 256
    private static let processors = max(2, ProcessInfo.processInfo.activeProcessorCount)
    /// Seconds without a begun job, while jobs wait, that mean that nobody will begin one soon.
    private static let stuck: TimeInterval = 0.01
    /// Seconds that a thread without work stays.
    private static let patience: TimeInterval = 10

    /// Guards `state`, and wakes a thread that is free.
    private let condition = NSCondition()
    nonisolated(unsafe) private var state = State()

    private struct State {
        /// In the order in which they came; those before `next` were taken.
        var jobs: [UnownedJob] = []
        var next = 0
        /// So many were ever begun.
        var begun: UInt64 = 0
        var threads = 0
        /// Of the threads: those that were begun and have not looked for work yet, those without work, of these the
        /// ones that were woken, and those with work (or that wait in the middle of it).
        var starting = 0
        var free = 0
        var woken = 0
        var working = 0
        /// So many may work at once.
        var allowed = WaitingThreads.processors
        /// One of those that are free looks whether jobs are begun.
        var isWatched = false

        var waiting: Int { jobs.count - next }

        /// Somebody must come: to begin what waits, or to look whether it is begun.
        var needsOneMore: Bool {
            guard waiting > 0 else { return false }
            let coming = starting + woken
            return working + coming < allowed ? coming < waiting : !isWatched && coming == 0
        }

        mutating func take() -> UnownedJob? {
            guard waiting > 0, working < allowed else { return nil }
            let job = jobs[next]
            next += 1
            if waiting == 0 || next >= 256 {
                jobs.removeFirst(next)
                next = 0
            }
            (begun, working) = (begun &+ 1, working + 1)
            return job
        }

        /// Those who waited are fewer again; at least one may work beside those who still do.
        mutating func finish() {
            working -= 1
            allowed = max(
                WaitingThreads.processors, min(allowed - 1, WaitingThreads.most), min(working + 1, WaitingThreads.most))
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        condition.lock()
        defer { condition.unlock() }
        state.jobs.append(job)
        if state.needsOneMore { callOne() }
    }

    private func callOne() {
        if state.free > state.woken {
            state.woken += 1
            condition.signal()
        } else if state.threads < Self.most {
            (state.threads, state.starting) = (state.threads + 1, state.starting + 1)
            let thread = Thread { self.work() }
            thread.name = "http"
            thread.start()
        }
    }

    private func work() {
        condition.lock()
        defer { condition.unlock() }
        state.starting -= 1
        while let job = next() {
            condition.unlock()
            job.runSynchronously(on: asUnownedTaskExecutor())
            condition.lock()
            state.finish()
        }
    }

    /// The next job; `nil`: this thread is not needed any more.
    private func next() -> UnownedJob? {
        while true {
            if let job = state.take() {
                if state.needsOneMore { callOne() }
                return job
            }
            guard state.waiting > 0, !state.isWatched else {
                if rest(for: Self.patience) || state.waiting > 0 { continue }
                state.threads -= 1
                return nil
            }
            watch()
        }
    }

    /// Waits while jobs wait for those who work. Where none is begun meanwhile, as many more may work.
    private func watch() {
        state.isWatched = true
        let before = state.begun
        let wasWoken = rest(for: Self.stuck)
        state.isWatched = false
        guard !wasWoken, state.begun == before else { return }
        state.allowed = min(Self.most, max(state.allowed, state.working + state.waiting))
    }

    /// False: nobody called within that many seconds.
    private func rest(for seconds: TimeInterval) -> Bool {
        state.free += 1
        let wasWoken = condition.wait(until: Date(timeIntervalSinceNow: seconds))
        state.free -= 1
        state.woken = wasWoken ? max(0, state.woken - 1) : min(state.woken, state.free)
        return wasWoken
    }
}
