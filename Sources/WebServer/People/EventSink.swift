import Synchronization
import TrackerCore
import TrackerService

/// The open pages, as a place where notifications are shown (tracker law Section 10.2). Only a page that says that it
/// shows them counts.
package final class EventSink: NotificationSink {
    /// Always `events`.
    package let name = "events"
    private let person = Mutex<Person?>(nil)

    /// With no page open.
    package init() {}

    /// From now on the pages of this person; of nobody any more.
    package func show(to person: Person?) { self.person.withLock { $0 = person } }

    package func canShow() async -> Bool { await feed?.isShown ?? false }

    package func deliver(_ notification: TrackerNotification) async -> Bool { await feed?.show(notification) ?? false }

    package func catchUp() async { await recorded() }

    /// Whatever others have told goes to all who watch, whether they show it or not.
    package func recorded() async { try? await feed?.sayRecorded() }

    private var feed: StateFeed? { person.withLock { $0?.feed } }
}
