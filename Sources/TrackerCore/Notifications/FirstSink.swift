/// One place of several, the first that shows it: they are the same to a person, who must not see anything twice.
package struct FirstSink: NotificationSink {
    /// The name of all of them together.
    package let name: String
    private let places: [any NotificationSink]

    /// Under that name, the places in the order in which they are asked.
    package init(_ name: String, _ places: [any NotificationSink]) {
        self.name = name
        self.places = places
    }

    /// As long as they all may take, one after the other.
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
