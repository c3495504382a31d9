import CommandSupport
import Logging
import Notifications
import Store
import TrackerCore
import TrackerService

extension ServicePlan {
    func senders(_ store: TrackerStore, _ watch: StoreWatch?, log: Logger) -> [NotificationSender] {
        NotificationChannel.allCases.map { channel in
            let title = channel.title
            return NotificationSender(
                channel, tracker: { try tracker(of: store, source: "pocket") },
                overlay: { try file.notificationSettings(over: $0) }, person: instance,
                sharesWaterline: { sharesWaterline(store) }, watch: watch,
                log: { event in
                    switch event {
                    case .enabled(let text): log.notice("Notifications go to \(text).")
                    case .failed(let reason):
                        log.warning("\(title): \(asSentence(reason)) It is retried automatically.")
                    case .resumed: log.notice("\(title) continues.")
                    case .disabled: log.notice("\(title): no server is set.")
                    case .dropped(let text): log.warning("\(title): \(asSentence(text))")
                    }
                })
        }
    }
}
