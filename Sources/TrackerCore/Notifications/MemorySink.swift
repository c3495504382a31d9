import Synchronization

/// The sink of tests and what-ifs: remembers what it was given, and refuses when told to.
public final class MemorySink: NotificationSink {
    private struct Contents {
        var accepts: Bool
        var delivered: [TrackerNotification] = []
        var refused = 0
        var shown: [String: TrackerNotification] = [:]
    }

    /// Always `memory`.
    public let name = "memory"
    private let contents: Mutex<Contents>

    /// Empty; refuses from the beginning where `accepts` is `false`.
    public init(accepts: Bool = true) { contents = Mutex(Contents(accepts: accepts)) }

    /// Whether it accepts what comes next.
    public var accepts: Bool {
        get { contents.withLock { $0.accepts } }
        set { contents.withLock { $0.accepts = newValue } }
    }

    /// Everything accepted, oldest first.
    public var delivered: [TrackerNotification] { contents.withLock { $0.delivered } }
    /// How many it refused.
    public var refused: Int { contents.withLock { $0.refused } }
    /// What a screen would show now, by id.
    public var shown: [String: TrackerNotification] { contents.withLock { $0.shown } }

    public func deliver(_ notification: TrackerNotification) -> Bool {
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

    public func close(id: String) {
        contents.withLock { contents in _ = contents.shown.removeValue(forKey: id) }
    }
}
