import Synchronization
package import TrackerCore

/// A channel that records notifications. It can be unavailable, or reject notifications.
package final class MemorySink: NotificationSink {
    package typealias Condition = @Sendable (TrackerNotification) -> Bool

    private struct Contents {
        var isAvailable: Bool
        var accepts: Condition
        var offered: [TrackerNotification] = []
        var delivered: [TrackerNotification] = []
        var shown: [String: TrackerNotification] = [:]
    }

    package let name: String
    private let contents: Mutex<Contents>

    package init(_ name: String = "memory", isAvailable: Bool = true, accepts: @escaping Condition = { _ in true }) {
        self.name = name
        contents = Mutex(Contents(isAvailable: isAvailable, accepts: accepts))
    }

    package var isAvailable: Bool {
        get { contents.withLock { $0.isAvailable } }
        set { contents.withLock { $0.isAvailable = newValue } }
    }

    package func accept(_ condition: @escaping Condition) { contents.withLock { $0.accepts = condition } }

    /// The delivered and the rejected notifications.
    package var offered: [NotificationKind] { contents.withLock { $0.offered.map(\.kind) } }
    package var delivered: [TrackerNotification] { contents.withLock { $0.delivered } }
    package var kinds: [NotificationKind] { delivered.map(\.kind) }
    /// The notifications that are not closed or replaced, by id.
    package var shown: [String: TrackerNotification] { contents.withLock { $0.shown } }

    package func canShow() -> Bool { isAvailable }

    package func deliver(_ notification: TrackerNotification) -> Bool {
        let accepts = contents.withLock { contents in
            contents.offered.append(notification)
            return contents.accepts
        }
        guard isAvailable, accepts(notification) else { return false }
        contents.withLock { contents in
            contents.delivered.append(notification)
            contents.shown[notification.kind.id] = notification
        }
        return true
    }

    package func close(id: String) {
        contents.withLock { contents in _ = contents.shown.removeValue(forKey: id) }
    }
}
