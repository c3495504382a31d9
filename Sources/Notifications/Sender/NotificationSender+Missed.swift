import Store
import TrackerCore
import TrackerService

extension NotificationSender {
    /// Queues the notifications that other channels have delivered, in order and once each. ntfy does not get those
    /// that no longer apply, that a later one replaced, or that are 15 minutes old.
    /// - Parameter next: the notification to deliver next. Only earlier ones are queued.
    func queueMissed(_ tracker: TrackerAPI, before next: TrackerNotification? = nil) throws {
        let store = tracker.store
        let last = next.flatMap { $0.place > 0 ? $0.place - 1 : nil } ?? .max
        let delivered = try store.deliveries(after: store.lastProcessed(name), through: last)
        guard let newest = delivered.last else { return }
        let known = try store.queuedStates(at: name)
        let sharedFrom = try store.recordSharing(dependencies.sharesWaterline())
        let validity =
            channel.sendsLate ? nil : NotificationValidity(try store.facts(tracker.context), now: tracker.now)
        for entry in delivered where known[entry.decision.notificationId] == nil && channel.sends(entry.decision.kind) {
            let (decision, decidedAt) = (entry.decision, entry.decision.decidedAt ?? tracker.now)
            // Notifications of a session stay private if Waterline was not shared at that time.
            guard !decision.kind.isWaterline || sharedFrom.map({ entry.place > $0 }) ?? false else { continue }
            if let validity {
                let isReplaced =
                    next?.kind.id == decision.kind.id
                    || delivered.contains { $0.place > entry.place && $0.decision.kind.id == decision.kind.id }
                guard !isReplaced, decidedAt.seconds(to: tracker.now).magnitude < channel.lifetime,
                    validity.reasonNotToShow(decision) == nil
                else { continue }
            }
            _ = try post(decision, since: decidedAt, tracker)
        }
        try store.recordProcessed([], name, through: newest.place)
    }
}
