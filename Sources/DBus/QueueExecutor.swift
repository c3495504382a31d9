package import Dispatch

/// Runs actors on one serial queue, on which libdbus is called and its descriptors are watched.
///
/// All users of this executor run one at a time and in order. So a signal handler can enter an actor synchronously and
/// use the state at the signal's arrival.
package final class QueueExecutor: SerialExecutor {
    package let queue: DispatchQueue

    package init(_ label: String) {
        queue = DispatchQueue(label: label)
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    package func checkIsolated() {
        dispatchPrecondition(condition: .onQueue(queue))
    }
}
