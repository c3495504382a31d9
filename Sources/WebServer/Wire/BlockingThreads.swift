import NIOPosix

/// Threads for work that may wait for the store. Swift's own are as many as processors: a few writes that wait for
/// another process would stop every other response.
final class BlockingThreads: TaskExecutor {
    static let shared = BlockingThreads()
    /// A write waits for its store 5 s at most.
    static let count = 32

    private let pool = NIOThreadPool(numberOfThreads: count)

    private init() { pool.start() }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pool.submit { _ in job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
