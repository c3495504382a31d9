/// Where decisions go: a desktop, a terminal, a broker. Delivery is not the core's business; it only hears what was
/// shown.
///
/// A sink is called outside every transaction. Who takes too long has shown nothing.
package protocol NotificationSink: Sendable {
    /// What the store remembers it by: `desktop`, `output`, `mqtt`. A word without a comma.
    var name: String { get }
    /// How long it may take. What it shows later is not counted.
    var limit: Duration { get }
    /// Whether it could show something now (`false`: no server, blocked, down). With none that can, `notifications` in
    /// the state is `disabled`.
    func canShow() async -> Bool
    /// Shows it, or does not. Only what somebody could see is counted.
    func deliver(_ notification: TrackerNotification) async -> Bool
    /// Takes away what is shown under that id, where anything is.
    func close(id: String) async
    /// Brings what others told while this one was away, in their order. Before anything new is delivered here.
    func catchUp() async
    /// Something was told, here or by another sink, and the store has it.
    func recorded() async
}

extension NotificationSink {
    /// Six seconds, where a sink says nothing else.
    package var limit: Duration { .seconds(6) }
    package func canShow() async -> Bool { true }
    package func close(id: String) async {}
    package func catchUp() async {}
    package func recorded() async {}
}
