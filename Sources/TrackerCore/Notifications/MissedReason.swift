/// The reason why a channel that was unavailable does not show an earlier notification. The notification is in the list
/// of missed ones (tracker spec C).
package enum MissedReason: String, Hashable, Sendable, CaseIterable, Codable {
    /// A later notification with the same id replaces this one.
    case replaced
    /// The user has since logged a drink or performed the requested action.
    case answered
    /// The day or session of the notification is over, or its content no longer applies.
    case over
    case quietHours
    /// An urgent notification was delivered first while this one was held back.
    case overtaken
}
