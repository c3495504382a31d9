import Logging
import Notifications
import Store
import TrackerService

extension ServicePlan {
    func senders(_ store: TrackerStore, _ watch: StoreWatch?, log: Logger) -> [NotificationSender] {
        let tracker: @Sendable () throws -> TrackerAPI = { try self.tracker(of: store, source: "pocket") }
        let context = PublisherContext(
            store, tracker: tracker,
            settings: { try file.notificationSettings(over: tracker().store.settings()).service },
            sharesWaterline: { sharesWaterline(store) }, watch: watch, log: log)
        return NotificationChannel.allCases.map { NotificationSender($0, context, person: instance) }
    }
}
