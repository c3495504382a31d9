import Dispatch

/// Threads that may wait for the store's file. Swift's own are as many as processors: a few writes that wait for another process would
/// take all of them, and with them every other answer.
final class WaitingThreads: TaskExecutor {
    static let shared = WaitingThreads()

    private let queue = DispatchQueue(label: "http", attributes: .concurrent)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
