package import Store
package import TrackerCore

/// Which notifications of other channels a channel delivers after it was unavailable.
package struct CatchUpRule: Sendable {
    /// Whether to skip those that no longer apply, or that a later one of their kind replaced (tracker spec C).
    var skipsOutdated: Bool
    /// Whether other machines can see Waterline; `nil` for a channel of this machine, which shows it.
    var sharesWaterline: (@Sendable () -> Bool)?
    /// The age in seconds from which notifications are skipped.
    var lifetime: Double
    /// Whether the user has the channel switched on.
    var isEnabled: @Sendable (Settings) -> Bool = { _ in true }

    package init(skipsOutdated: Bool, lifetime: Double = .infinity, sharesWaterline: (@Sendable () -> Bool)?) {
        (self.skipsOutdated, self.lifetime, self.sharesWaterline) = (skipsOutdated, lifetime, sharesWaterline)
    }

    /// The rule of desktops.
    package static var desktop: CatchUpRule {
        var rule = CatchUpRule(skipsOutdated: true, sharesWaterline: nil)
        rule.isEnabled = { $0.desktopNotifications }
        return rule
    }
}

/// A notification that a channel has not processed.
package struct MissedNotification: Sendable {
    package enum Action: Hashable, Sendable {
        case deliver
        /// The channel has delivered it.
        case none
        /// The channel must never deliver it.
        case hide
        case skip(MissedReason)
    }

    package let entry: DeliveredNotification
    package let action: Action

    package var decision: TrackerNotification { entry.decision }
}

extension TrackerAPI {
    /// The delivered notifications that a channel has not processed, oldest first.
    /// - Parameter next: the notification to deliver afterwards.
    package func missed(by channel: String, _ rule: CatchUpRule, before next: TrackerNotification? = nil) throws
        -> [MissedNotification]
    {
        let entries = try store.deliveries(after: store.lastProcessed(channel))
        guard !entries.isEmpty else { return [] }
        // Notifications of a session stay private if Waterline was not shared at that time.
        let privateThrough = try rule.sharesWaterline.map { try store.recordSharing($0()) ?? .max } ?? 0
        let validity = rule.skipsOutdated ? NotificationValidity(try store.facts(context), now: now) : nil
        let session = try store.activeSession(at: now)?.session.id
        return entries.map { entry in
            let (decision, kind) = (entry.decision, entry.decision.kind)
            let isReplaced =
                next?.kind.id == kind.id
                || entries.contains { $0.place > entry.place && $0.decision.kind.id == kind.id }
            let isHidden =
                kind.isWaterline && entry.place <= privateThrough || kind.isResident && decision.sessionID != session
                || (decision.decidedAt ?? now).seconds(to: now).magnitude >= rule.lifetime
            let reason = validity.flatMap { isReplaced ? .replaced : $0.reasonNotToShow(decision) }
            let action: MissedNotification.Action =
                if entry.sinks.contains(channel) { .none } else if let reason { .skip(reason) } else {
                    isHidden ? .hide : .deliver
                }
            return MissedNotification(entry: entry, action: action)
        }
    }
}
