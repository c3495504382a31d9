package import TrackerService

/// The parts of a service that the routes use: store, polling service and notification channels.
package struct WebApp: Sendable {
    package let name: String
    /// The name of a service that is not an instance.
    package static let defaultName = "me"
    /// Opens the store with the current clock, zone and settings. Called for each request.
    package let tracker: @Sendable () throws -> TrackerAPI
    /// The service that polls the bottles; `nil` if the server runs without one.
    package let service: ServiceClient?
    /// Whether other machines can see Waterline.
    package let sharesWaterline: @Sendable () -> Bool
    /// Programs in the user's session that show notifications; `nil` if not supported.
    package let agents: AgentSink?
    /// The page's address for a browser on this machine.
    let page: @Sendable () -> String?
    let feed: StateFeed
    let tokenCache = TokenCache()

    /// Called after a write, and when a client starts to show notifications, because a notification can then be due.
    let storeChanged: @Sendable () async -> Void

    package init(
        name: String, service: ServiceClient? = nil, agents: AgentSink? = nil,
        page: @escaping @Sendable () -> String? = { nil },
        sharesWaterline: @escaping @Sendable () -> Bool = { false },
        storeChanged: @escaping @Sendable () async -> Void = {},
        tracker: @escaping @Sendable () throws -> TrackerAPI
    ) {
        self.name = name
        self.tracker = tracker
        self.service = service
        self.sharesWaterline = sharesWaterline
        self.storeChanged = storeChanged
        self.agents = agents
        self.page = page
        feed = StateFeed(
            tracker: tracker, service: service, sharesWaterline: sharesWaterline, viewerArrived: storeChanged)
    }
}
