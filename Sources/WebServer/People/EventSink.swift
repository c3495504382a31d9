import Synchronization
import TrackerCore
import TrackerService

/// The open pages, as a place where notifications are shown (tracker law Section 10.2). Only a page that says that it
/// shows them counts.
public final class EventSink: NotificationSink {
    /// Always `events`.
    public let name = "events"
    private let person = Mutex<Person?>(nil)

    /// With no page open.
    public init() {}

    /// From now on the pages of this person; of nobody any more.
    public func show(to person: Person?) { self.person.withLock { $0 = person } }

    public func canShow() async -> Bool { await feed?.isShown ?? false }

    public func deliver(_ notification: TrackerNotification) async -> Bool { await feed?.show(notification) ?? false }

    public func catchUp() async { await recorded() }

    /// Whatever others have told goes to all who watch, whether they show it or not.
    public func recorded() async { try? await feed?.sayRecorded() }

    private var feed: StateFeed? { person.withLock { $0?.feed } }
}
