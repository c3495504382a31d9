import HTTPTypes
import Hummingbird
import Logging
import TrackerCore

/// The web server of the service: the API, the stream of events, and the pages.
package struct HTTPServer: Sendable {
    /// So many connections at once on each address; more wait in the kernel's queue.
    package static let connectionLimit = 2500
    /// So many of them are for other machines at most, and so many for one of those: the rest is for programs of this
    /// one.
    static let peers = PeerPlaces(all: 2000, each: 200)
    /// One address to listen on.
    package typealias Endpoint = HTTPListener.Endpoint

    private let person: Person
    private let names: @Sendable () -> [String]
    private let isBehindProxy: Bool
    private let log: Logger
    private let pairing: PairingDesk
    private let metrics: @Sendable () async -> String
    private let addresses: @Sendable () -> [String]

    /// - Parameters:
    ///   - names: by which this machine may be called, beside its addresses.
    ///   - isBehindProxy: whether a program of this machine hands on what comes from elsewhere: then nobody is believed
    ///     to sit here.
    ///   - passing: time as it passes, whatever the machine's clock says, from some moment on; `nil`: as this process
    ///     sees it.
    ///   - addresses: where other machines find the page, as URLs; empty where only this one does.
    ///   - metrics: the program's metrics in Prometheus' format, in addition to the server's.
    package init(
        _ person: Person, names: @escaping @Sendable () -> [String], isBehindProxy: Bool = false, log: Logger,
        random: @escaping @Sendable () -> UInt32, passing: (@Sendable () -> Instant)? = nil,
        addresses: @escaping @Sendable () -> [String] = { [] },
        metrics: @escaping @Sendable () async -> String = { "" }
    ) {
        self.person = person
        self.names = names
        self.isBehindProxy = isBehindProxy
        self.log = log
        self.metrics = metrics
        self.addresses = addresses
        pairing = PairingDesk(random: random, passing: passing)
    }

    /// Serves until the task is cancelled.
    /// - Parameter ready: told once, with the port in use.
    package func run(
        on endpoint: Endpoint,
        ready: @escaping @Sendable (_ port: Int?) async -> Void = { _ in }
    ) async throws {
        let counts = RequestCounts()
        let isPrivate = if case .unix = endpoint { true } else { false }
        let router = Router(context: Visit.self, options: .autoGenerateHeadEndpoints)
        router.add(
            middleware: Door(
                names: names, isBehindProxy: isBehindProxy, person: person, isPrivate: isPrivate, counts: counts))
        enter(RouteTable(router, person), counts).finish()

        try await HTTPListener(endpoint, connectionLimit: Self.connectionLimit, peers: Self.peers, log: log).run(
            router.buildResponder(), ready: ready)
    }

    private func enter(_ table: RouteTable, _ counts: RequestCounts) -> RouteTable {
        StateRoutes.add(to: table)
        EventRoutes.add(to: table)
        AgentRoutes.add(to: table)
        PressRoutes.add(to: table, person)
        PhoneRoutes.add(to: table)
        DrinkRoutes.add(to: table)
        SessionRoutes.add(to: table)
        SettingRoutes.add(to: table)
        FileRoutes.add(to: table)
        AccountRoutes.add(to: table, person, pairing, addresses)
        BottleRoutes.add(to: table)
        AdoptionRoutes.add(to: table)
        WidgetRoutes.add(to: table)
        HealthRoutes.add(to: table, person, counts, metrics)
        PageRoutes.add(to: table)
        return table
    }

    /// Every path with its methods, for whoever checks the description against them.
    static var routes: [String: Set<HTTPRequest.Method>] {
        let person = Person(name: Person.unnamed) { throw HTTPProblem.missing("There is no store.") }
        let server = HTTPServer(person, names: { [] }, log: Logger(label: "routes"), random: { 0 })
        return server.enter(RouteTable(Router(context: Visit.self), person), RequestCounts()).entered
    }
}
