import Store
import TrackerCore
import TrackerService

extension NotificationSender {
    /// Queues notifications that other processes delivered while no service ran, in order and once each. ntfy does not
    /// get those that no longer apply, that a later one replaced, or that are 15 minutes old.
    /// - Parameter next: the notification to deliver next. Only earlier ones are queued.
    func queueMissed(_ tracker: TrackerAPI, before next: TrackerNotification? = nil) throws {
        let store = tracker.store
        let last = next.flatMap { $0.place > 0 ? $0.place - 1 : nil } ?? .max
        let told = try store.told(after: store.deliveredThrough(name), through: last)
        guard let newest = told.last else { return }
        let known = try store.postStates(at: name)
        let sharedFrom = try store.noteSharing(around.sharesWaterline())
        let stillTrue =
            channel.sendsLate ? nil : NotificationValidity(try store.facts(tracker.context), now: tracker.now)
        for one in told where known[one.decision.notificationId] == nil && channel.takes(one.decision.kind) {
            let (decision, decidedAt) = (one.decision, one.decision.decidedAt ?? tracker.now)
            // Notifications of a session stay private if Waterline was not shared at that time.
            guard !decision.kind.isWaterline || sharedFrom.map({ one.place > $0 }) ?? false else { continue }
            if let stillTrue {
                let isReplaced =
                    next?.kind.id == decision.kind.id
                    || told.contains { $0.place > one.place && $0.decision.kind.id == decision.kind.id }
                guard !isReplaced, decidedAt.seconds(to: tracker.now).magnitude < channel.lifetime,
                    stillTrue.reasonToMiss(decision) == nil
                else { continue }
            }
            _ = try post(decision, since: decidedAt, tracker)
        }
        try store.recordDelivered([], name, through: newest.place)
    }
}
