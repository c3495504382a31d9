/// A channel that uses the first available one of several, so that the user sees a notification once.
package struct FallbackSink: NotificationSink {
    package let name: String
    private let channels: [any NotificationSink]

    /// - Parameter channels: the channels in order of preference.
    package init(_ name: String, _ channels: [any NotificationSink]) {
        self.name = name
        self.channels = channels
    }

    /// The sum of the time limits, because the channels are tried one at a time.
    package var timeLimit: Duration { channels.reduce(.zero) { $0 + $1.timeLimit } }

    package func canShow() async -> Bool {
        for channel in channels where await channel.canShow() { return true }
        return false
    }

    package func deliver(_ notification: TrackerNotification) async -> Bool {
        for channel in channels where await channel.canShow() {
            if await channel.deliver(notification) { return true }
        }
        return false
    }

    package func close(id: String) async {
        for channel in channels { await channel.close(id: id) }
    }
}
