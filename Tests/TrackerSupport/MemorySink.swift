import Synchronization
package import TrackerCore

/// A channel that records notifications, or rejects them.
package final class MemorySink: NotificationSink {
    private struct Contents {
        var accepts: Bool
        var delivered: [TrackerNotification] = []
        var refused = 0
        var shown: [String: TrackerNotification] = [:]
    }

    package let name: String
    private let contents: Mutex<Contents>

    package init(_ name: String = "memory", accepts: Bool = true) {
        self.name = name
        contents = Mutex(Contents(accepts: accepts))
    }

    package var accepts: Bool {
        get { contents.withLock { $0.accepts } }
        set { contents.withLock { $0.accepts = newValue } }
    }

    package var delivered: [TrackerNotification] { contents.withLock { $0.delivered } }
    package var kinds: [NotificationKind] { delivered.map(\.kind) }
    package var refused: Int { contents.withLock { $0.refused } }
    /// The notifications that are not closed or replaced, by id.
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
