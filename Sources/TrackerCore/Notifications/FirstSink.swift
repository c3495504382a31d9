/// A channel that uses the first available one of several, so that the user sees a notification once.
package struct FirstSink: NotificationSink {
    package let name: String
    private let places: [any NotificationSink]

    /// - Parameter places: the channels in order of preference.
    package init(_ name: String, _ places: [any NotificationSink]) {
        self.name = name
        self.places = places
    }

    /// The sum of the limits, because the channels are tried one at a time.
    package var limit: Duration { places.reduce(.zero) { $0 + $1.limit } }

    package func canShow() async -> Bool {
        for place in places where await place.canShow() { return true }
        return false
    }

    package func deliver(_ notification: TrackerNotification) async -> Bool {
        for place in places where await place.canShow() {
            if await place.deliver(notification) { return true }
        }
        return false
    }

    package func close(id: String) async {
        for place in places { await place.close(id: id) }
    }

    package func catchUp() async {
        for place in places { await place.catchUp() }
    }

    package func recorded() async {
        for place in places { await place.recorded() }
    }
}
