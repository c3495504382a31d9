/// A decision to notify. `EngineDay.accept` or `WaterlineReminderState.accept` records its acceptance by a channel.
package struct TrackerNotification: Hashable, Sendable, Codable {
    package var kind: NotificationKind
    /// The id `<id>/<day or session>/<n>`. It is the same for each attempt, so that receivers can drop duplicates.
    package var notificationId: String
    package var title: String
    /// The body; empty for a discreet notification.
    package var body: String
    package var urgency: NotificationUrgency
    package var sound: Bool
    /// The tracker's day of the decision.
    package var dayKey: LocalDay
    /// The session of a Waterline notification.
    package var sessionID: String?
    package var acceptance: Acceptance
    /// The due time of the interval reminder, which counts as sent when a channel accepts this notification. So with
    /// `reminders.engine` = `all`, no second reminder follows a minute later.
    package var answeredAnchor: Instant?
    /// The grid point that the notification answers, if its kind has one.
    package var answeredSlot: Instant?
    /// Whether texts and buttons do not name the drink (US-036).
    package var isDiscreet: Bool
    /// The sequence number among all delivered notifications; 0 before delivery.
    package var position: Int64 = 0
    /// The time of the decision, which can be long before the time of display; `nil` before delivery.
    package var decidedAt: Instant?

    package init(
        kind: NotificationKind, notificationId: String, title: String, body: String, urgency: NotificationUrgency,
        sound: Bool,
        dayKey: LocalDay, sessionID: String? = nil, acceptance: Acceptance, answeredAnchor: Instant? = nil,
        answeredSlot: Instant? = nil, isDiscreet: Bool = false
    ) {
        self.kind = kind
        self.notificationId = notificationId
        self.title = title
        self.body = body
        self.urgency = urgency
        self.sound = sound
        self.dayKey = dayKey
        self.sessionID = sessionID
        self.acceptance = acceptance
        self.answeredAnchor = answeredAnchor
        self.answeredSlot = answeredSlot
        self.isDiscreet = isDiscreet
    }

    /// The state that acceptance changes.
    package enum Acceptance: Hashable, Sendable, Codable {
        case pace(Urgency)
        case interval
        case adaptive
        case goal
        case recovery
        case waterlineTime(slot: Instant)
        case perDrink(seq: Int)
        case warning(valueThousandths: Int, seq: Int)
        case abandoned
        case live(text: String)
        /// The acceptance changes no state of the reminder engines.
        case none
    }

    /// The haptic pattern for channels that can vibrate (K-B17).
    package var haptic: String { "notification" }
}
