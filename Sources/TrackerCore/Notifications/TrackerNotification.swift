/// A decision to notify. The core decides; sinks deliver; what they accepted is reported back with
/// `EngineDay.accept` or `WaterlineReminderState.accept`.
package struct TrackerNotification: Hashable, Sendable, Codable {
    /// Which kind of notification.
    package var kind: NotificationKind
    /// `<id>/<day or session>/<n>`: the same decision always has the same one, so that receivers can drop repetitions.
    package var notificationId: String
    /// Its heading.
    package var title: String
    /// Empty where the text is discreet.
    package var body: String
    /// How pressing it is.
    package var urgency: NotificationUrgency
    /// Whether it makes a sound.
    package var sound: Bool
    /// The day, as totals count it, on which it was decided.
    package var dayKey: LocalDay
    /// The session it belongs to, for Waterline.
    package var sessionID: String?
    /// What acceptance changes.
    package var acceptance: Acceptance
    /// What was due in the interval and adaptive engines at that moment: one word answers all of it, so that with
    /// `reminders.engine` = all the others do not follow a minute later.
    package var answeredAnchor: Instant?
    /// The moment on a grid that it answers, where its kind has one.
    package var answeredSlot: Instant?
    /// Its words name nothing that was drunk, and its buttons do not either (US-036).
    package var isDiscreet: Bool
    /// Its place in the order of everything that is told; 0 as long as nobody tells it.
    package var place: Int64 = 0
    /// When it was decided, which may be long before somebody who was away hears of it; `nil` as long as nobody tells
    /// it.
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

    /// Which memory moves when a sink accepts.
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
        /// The notification is not one of the reminder engine.
        case none
    }

    /// For sinks that can vibrate (K-B17).
    package var haptic: String { "notification" }
}
