/// A notification channel, such as a desktop, a terminal or a broker. Called outside transactions. A notification that
/// is not delivered within `timeLimit` counts as not shown.
package protocol NotificationSink: Sendable {
    /// The name of the channel in the store: `desktop`, `output`, `mqtt`. Must not contain a comma.
    var name: String { get }
    var timeLimit: Duration { get }
    /// Whether the channel is available (`false`: no server, blocked, or down). If no channel is available,
    /// `notifications` in the state is `disabled`.
    func canShow() async -> Bool
    /// Shows a notification. Returns whether the user can see it; only then does it count.
    func deliver(_ notification: TrackerNotification) async -> Bool
    /// Closes the displayed notification with this id, if there is one.
    func close(id: String) async
    /// Delivers the notifications that this channel missed, before each evaluation. It delays the other channels.
    func catchUp() async
    /// Called after a notification of any channel was stored.
    func notificationStored() async
}

extension NotificationSink {
    package var timeLimit: Duration { .seconds(6) }
    package func canShow() async -> Bool { true }
    package func close(id: String) async {}
    package func catchUp() async {}
    package func notificationStored() async {}
}
