import TrackerService

/// One person's day, as the server needs it.
package struct Person: Sendable {
    /// The service's instance name, or `unnamed`.
    package let name: String
    /// The name of a service that is not an instance.
    package static let unnamed = "me"
    /// The desk over the person's open store, at this moment: clock, zone and settings as they are now. Called for each
    /// request.
    package let desk: @Sendable () throws -> TrackerDesk
    /// The service that polls this person's bottles; `nil` where none does.
    package let service: ServiceDoor?
    /// Whether Waterline is shown beyond this machine.
    package let sharesWaterline: @Sendable () -> Bool
    /// Programs in the person's session that show notifications; `nil` where none is heard.
    package let agents: AgentSink?
    /// Where a browser of this machine finds the page.
    let page: @Sendable () -> String?
    let feed: StateFeed

    /// Called after a write, and when somebody begins to show notifications: something may be worth telling at once.
    let wrote: @Sendable () async -> Void

    /// One person, whose day `desk` opens for each request.
    package init(
        name: String, service: ServiceDoor? = nil, agents: AgentSink? = nil,
        page: @escaping @Sendable () -> String? = { nil },
        sharesWaterline: @escaping @Sendable () -> Bool = { false }, wrote: @escaping @Sendable () async -> Void = {},
        desk: @escaping @Sendable () throws -> TrackerDesk
    ) {
        self.name = name
        self.desk = desk
        self.service = service
        self.sharesWaterline = sharesWaterline
        self.wrote = wrote
        self.agents = agents
        self.page = page
        feed = StateFeed(desk: desk, service: service, opened: wrote)
    }
}
