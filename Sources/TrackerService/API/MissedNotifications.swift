package import Store
package import TrackerCore

/// Which notifications of other channels a channel delivers after it was unavailable.
package struct CatchUpRule: Sendable {
    package enum Action: Hashable, Sendable {
        case deliver
        /// The channel has already delivered the notification.
        case delivered
        /// The channel must never deliver the notification.
        case hide
        case skip(MissedReason)
    }

    /// Whether to skip notifications that no longer apply, or that a later one of their kind replaced (tracker spec C).
    let skipsOutdated: Bool
    /// The age in seconds from which notifications are hidden.
    let lifetime: Double
    /// Whether to hide resident notifications of sessions that have ended (`waterline-live`).
    let hidesEndedSessions: Bool
    /// Whether other machines can see Waterline; `nil` for the desktop, which shows it.
    let sharesWaterline: (@Sendable () -> Bool)?

    package init(
        skipsOutdated: Bool, lifetime: Double = .infinity, hidesEndedSessions: Bool = true,
        sharesWaterline: (@Sendable () -> Bool)?
    ) {
        (self.skipsOutdated, self.lifetime) = (skipsOutdated, lifetime)
        (self.hidesEndedSessions, self.sharesWaterline) = (hidesEndedSessions, sharesWaterline)
    }

    var isDesktop: Bool { sharesWaterline == nil }

    package static let desktop = CatchUpRule(skipsOutdated: true, sharesWaterline: nil)
}

extension TrackerAPI {
    /// The delivered notifications that a channel has not processed, oldest first, each with what to do.
    /// - Parameter next: the notification to deliver afterwards.
    package func missed(by channel: String, _ rule: CatchUpRule, before next: TrackerNotification? = nil) throws
        -> [(entry: DeliveredNotification, action: CatchUpRule.Action)]
    {
        let entries = try store.deliveries(after: store.lastProcessed(channel))
        guard !entries.isEmpty else { return [] }
        // Notifications of a session stay private if Waterline was not shared at that time.
        let lastPrivatePosition = try rule.sharesWaterline.map { try store.recordSharing($0()) ?? .max } ?? 0
        let validity = rule.skipsOutdated ? NotificationValidity(try store.facts(context), now: now) : nil
        let session = try store.activeSession(at: now)?.session.id
        return entries.map { entry in
            guard !entry.channels.contains(channel) else { return (entry, .delivered) }
            let (decision, kind) = (entry.decision, entry.decision.kind)
            let isReplaced =
                next?.kind.id == kind.id
                || entries.contains { $0.position > entry.position && $0.decision.kind.id == kind.id }
            if let reason = validity.flatMap({ isReplaced ? .replaced : $0.reasonNotToShow(decision) }) {
                return (entry, .skip(reason))
            }
            let isHidden =
                kind.isWaterline && entry.position <= lastPrivatePosition
                || rule.hidesEndedSessions && kind.isResident && decision.sessionID != session
                || (decision.decidedAt ?? now).seconds(to: now).magnitude >= rule.lifetime
            return (entry, isHidden ? .hide : .deliver)
        }
    }
}
