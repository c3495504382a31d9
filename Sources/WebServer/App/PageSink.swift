import Synchronization
package import TrackerCore
import TrackerService

/// The open pages as a notification channel (tracker spec Section 10.2). Only pages that report that they show
/// notifications count. The pages receive a notification after it was stored.
package final class PageSink: NotificationSink {
    package let name = "events"
    private let app = Mutex<WebApp?>(nil)

    package init() {}

    package func setApp(_ app: WebApp?) { self.app.withLock { $0 = app } }

    package func canShow() async -> Bool { await feed?.hasViewer ?? false }

    package func deliver(_ notification: TrackerNotification) async -> Bool { await feed?.shows(notification) ?? false }

    package func catchUp() async { await notificationStored() }

    package func notificationStored() async { try? await feed?.sendRecorded() }

    private var feed: StateFeed? { app.withLock { $0?.feed } }
}
