import NIOPosix

/// Threads for work that can wait for the store. Swift's own pool has one thread per processor, so a few writes that
/// wait for another process would block all other responses.
final class BlockingThreads: TaskExecutor {
    static let shared = BlockingThreads()
    /// The number of threads. A write waits at most `StoreError.busySeconds` for the store.
    static let count = 32

    private let pool = NIOThreadPool(numberOfThreads: count)

    private init() { pool.start() }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pool.submit { _ in job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
