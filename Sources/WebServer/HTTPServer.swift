import HTTPTypes
import Hummingbird
package import Logging
package import TrackerCore
import TrackerService

/// The HTTP server of one person's pages and API.
package struct HTTPServer: Sendable {
    private let app: WebApp
    private let log: Logger
    private let codes: AccessCodes
    private let metrics: @Sendable () async -> String
    private let addresses: @Sendable () -> PageAddresses

    /// - Parameters:
    ///   - uptime: a monotonic clock for access codes; `nil` uses that of this process.
    ///   - addresses: the page's addresses for browsers.
    ///   - metrics: the program's metrics in Prometheus format, in addition to the server's.
    package init(
        _ app: WebApp, log: Logger, random: @escaping @Sendable () -> UInt32 = { UInt32.random(in: 0...UInt32.max) },
        uptime: (@Sendable () -> Instant)? = nil,
        addresses: @escaping @Sendable () -> PageAddresses = { PageAddresses() },
        metrics: @escaping @Sendable () async -> String = { "" }
    ) {
        self.app = app
        self.log = log
        self.metrics = metrics
        self.addresses = addresses
        codes = AccessCodes(log: log, random: random, uptime: uptime)
    }

    /// Creates a one-time access code for a link that signs a browser in as administrator.
    package func administratorCode() async -> String {
        await codes.make(AccessCodes.Grant(scope: .admin, label: "browser"), for: "this process")
    }

    /// Serves until the task is cancelled.
    /// - Parameter ready: called once, with the port in use.
    package func run(on endpoint: Endpoint, ready: @escaping @Sendable (_ port: Int?) async -> Void = { _ in })
        async throws
    {
        let counts = ResponseCounts()
        let isSocket = if case .unix = endpoint { true } else { false }
        let router = Router(context: WebRequestContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: ErrorMiddleware(counts: counts))
        register(RouteTable(router, app, isSocket: isSocket), counts).finish()

        try await HTTPListener(endpoint: endpoint, responder: router.buildResponder(), log: log).run(ready: ready)
    }

    private func register(_ table: RouteTable, _ counts: ResponseCounts) -> RouteTable {
        StateRoutes.add(to: table)
        EventRoutes.add(to: table)
        AgentRoutes.add(to: table)
        PhoneRoutes.add(to: table)
        DrinkRoutes.add(to: table)
        SessionRoutes.add(to: table)
        SettingRoutes.add(to: table, log)
        FileRoutes.add(to: table, log)
        AccountRoutes.add(to: table, codes, addresses, log)
        BottleRoutes.add(to: table)
        WidgetRoutes.add(to: table)
        HealthRoutes.add(to: table, app, counts, metrics)
        PageRoutes.add(to: table)
        return table
    }

    /// Every path with its methods, to compare with the API description.
    static var routes: [String: Set<HTTPRequest.Method>] {
        let app = WebApp(name: WebApp.defaultName) { throw HTTPProblem.notFound("There is no store.") }
        let server = HTTPServer(app, log: Logger(label: "routes"))
        return server.register(RouteTable(Router(context: WebRequestContext.self), app), ResponseCounts()).registered
    }
}

package struct PageAddresses: Sendable {
    /// The address for a browser on this machine; `nil` if the page is off.
    package var local: String?
    package var others: [String]

    package init(local: String? = nil, others: [String] = []) { (self.local, self.others) = (local, others) }
}
