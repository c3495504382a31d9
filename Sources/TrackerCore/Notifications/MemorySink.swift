import Synchronization

/// The sink of tests and what-ifs: remembers what it was given, and refuses when told to.
package final class MemorySink: NotificationSink {
    private struct Contents {
        var accepts: Bool
        var delivered: [TrackerNotification] = []
        var refused = 0
        var shown: [String: TrackerNotification] = [:]
    }

    /// Always `memory`.
    package let name = "memory"
    private let contents: Mutex<Contents>

    /// Empty; refuses from the beginning where `accepts` is `false`.
    package init(accepts: Bool = true) { contents = Mutex(Contents(accepts: accepts)) }

    /// Whether it accepts what comes next.
    package var accepts: Bool {
        get { contents.withLock { $0.accepts } }
        set { contents.withLock { $0.accepts = newValue } }
    }

    /// Everything accepted, oldest first.
    package var delivered: [TrackerNotification] { contents.withLock { $0.delivered } }
    /// How many it refused.
    package var refused: Int { contents.withLock { $0.refused } }
    /// What a screen would show now, by id.
    package var shown: [String: TrackerNotification] { contents.withLock { $0.shown } }

    package func deliver(_ notification: TrackerNotification) -> Bool {
        contents.withLock { contents in
            guard contents.accepts else {
                contents.refused += 1
                return false
            }
            contents.delivered.append(notification)
            contents.shown[notification.kind.id] = notification
            return true
        }
    }

    package func close(id: String) {
        contents.withLock { contents in _ = contents.shown.removeValue(forKey: id) }
    }
}
