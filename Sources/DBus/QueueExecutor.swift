import Dispatch

/// Runs actors on one serial queue: the queue on which libdbus is called and on which its descriptors are watched.
///
/// Everything that shares this executor runs one at a time and in order, so a signal handler can call into an actor at
/// once, and the state that it sees is that of the moment when the signal arrived.
package final class QueueExecutor: SerialExecutor {
    /// The queue itself.
    package let queue: DispatchQueue

    /// On a queue of that name.
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
