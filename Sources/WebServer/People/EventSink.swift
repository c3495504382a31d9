import Synchronization
package import TrackerCore
import TrackerService

/// The open pages as a notification channel (tracker spec Section 10.2). Only pages that report that they show
/// notifications count. The pages receive a notification after it was stored.
package final class EventSink: NotificationSink {
    package let name = "events"
    private let person = Mutex<Person?>(nil)

    package init() {}

    /// Sets the person whose pages show notifications; `nil` for none.
    package func setPerson(_ person: Person?) { self.person.withLock { $0 = person } }

    package func canShow() async -> Bool { await feed?.hasViewer ?? false }

    package func deliver(_ notification: TrackerNotification) async -> Bool { await feed?.shows(notification) ?? false }

    package func catchUp() async { await notificationStored() }

    package func notificationStored() async { try? await feed?.sendRecorded() }

    private var feed: StateFeed? { person.withLock { $0?.feed } }
}
