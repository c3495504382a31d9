import Foundation
import Synchronization

/// How a connection waits for another process's write: `StoreError.busySeconds` at most, looking again every few
/// milliseconds.
///
/// SQLite's own way looks ten times a second at last, always at the same distance. Beside a process that writes one
/// transaction after the other (a poll that dates ten thousand records anew) it rarely looks in the gaps, and a tap on
/// a drink waited for twenty seconds.
final class BusyWait: Sendable {
    private let began = Mutex(ContinuousClock.now)

    /// SQLite's busy handler.
    /// - Parameter tries: how often it was called for this wait before.
    /// - Returns: whether to look again.
    func wait(tries: Int) -> Bool {
        let now = ContinuousClock.now
        let isOver = began.withLock { began in
            if tries == 0 { began = now }
            return began.duration(to: now) > .seconds(StoreError.busySeconds)
        }
        if isOver { return false }
        usleep(UInt32.random(in: 1000...8000))
        return true
    }
}
