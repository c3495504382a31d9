/// One place of several, the first that shows it: they are the same to a person, who must not see anything twice.
public struct FirstSink: NotificationSink {
    /// The name of all of them together.
    public let name: String
    private let places: [any NotificationSink]

    /// Under that name, the places in the order in which they are asked.
    public init(_ name: String, _ places: [any NotificationSink]) {
        self.name = name
        self.places = places
    }

    /// As long as they all may take, one after the other.
    public var limit: Duration { places.reduce(.zero) { $0 + $1.limit } }

    public func canShow() async -> Bool {
        for place in places where await place.canShow() { return true }
        return false
    }

    public func deliver(_ notification: TrackerNotification) async -> Bool {
        for place in places where await place.canShow() {
            if await place.deliver(notification) { return true }
        }
        return false
    }

    public func close(id: String) async {
        for place in places { await place.close(id: id) }
    }

    public func catchUp() async {
        for place in places { await place.catchUp() }
    }

    public func recorded() async {
        for place in places { await place.recorded() }
    }
}
