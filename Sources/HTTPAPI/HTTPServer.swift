import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore

/// The web server of the service: the API, the stream of events, and the pages.
public struct HTTPServer: Sendable {
    /// So many connections at once on each address; more wait in the kernel's queue.
    public static let connectionLimit = 2500
    /// A connection on which nothing arrives for so long is closed; one whose answer goes on is not.
    static let idleSeconds: Int64 = 60
    /// What was asked for may go on for so long when the server is told to stop.
    static let stopLimit = Duration.seconds(5)

    /// One address to listen on.
    public enum Endpoint: Hashable, Sendable {
        case tcp(host: String, port: Int)
        /// A socket in the file system, which only this user can open.
        case unix(path: String)

        /// `127.0.0.1:8077`, `[::1]:8077`, `unix:PATH`.
        public init?(_ text: String) {
            if text.hasPrefix("unix:") {
                let path = String(text.dropFirst(5))
                guard path.hasPrefix("/"), path.utf8.count < 108 else { return nil }
                self = .unix(path: path)
                return
            }
            guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else { return nil }
            var host = text[..<colon]
            if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() } else if host.contains(":") { return nil }
            guard !host.isEmpty else { return nil }
            self = .tcp(host: String(host), port: Int(port))
        }
    }

    private let household: Household
    private let names: @Sendable () -> [String]
    private let log: Logger
    private let pairing: PairingDesk
    private let metrics: @Sendable ([String]) async -> String
    private let addresses: @Sendable () -> [String]

    /// - Parameters:
    ///   - names: by which this machine may be called, beside its addresses.
    ///   - addresses: where other machines find the page, as URLs; empty where only this one does.
    ///   - metrics: what the program has to tell of these people in Prometheus' format, beside what the server knows.
    public init(
        _ household: Household, names: @escaping @Sendable () -> [String], log: Logger, random: @escaping @Sendable () -> UInt32,
        addresses: @escaping @Sendable () -> [String] = { [] }, metrics: @escaping @Sendable (_ people: [String]) async -> String = { _ in "" }
    ) {
        self.household = household
        self.names = names
        self.log = log
        self.metrics = metrics
        self.addresses = addresses
        pairing = PairingDesk(random: random)
    }

    /// Serves until the task is cancelled.
    /// - Parameters:
    ///   - host: who is meant at this address where nobody is named; the first one where `nil`.
    ///   - ready: told once, with the port in use.
    public func run(on endpoint: Endpoint, for host: String? = nil, ready: @escaping @Sendable (_ port: Int?) async -> Void = { _ in }) async throws {
        let counts = RequestCounts()
        let isPrivate = if case .unix = endpoint { true } else { false }
        let router = Router(context: Visit.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: Door(names: names, household: household, host: host, isPrivate: isPrivate, counts: counts))
        enter(RouteTable(router, household), counts).finish()

        let address: BindAddress
        switch endpoint {
        case .tcp(let host, let port): address = .hostname(host, port: port)
        case .unix(let path): address = .unixDomainSocket(path: path)
        }
        var quiet = log
        quiet.logLevel = .error
        let connections = OpenConnections()
        quiet.handler = RunningLog(quiet.handler) { connections.isStopping }
        let application = Application(
            responder: router.buildResponder(),
            server: .http1(configuration: .init(
                additionalChannelHandlers: [connections.watch()], idleTimeout: .seconds(Self.idleSeconds),
                httpDecoderConfiguration: .init(maxHeaderFieldSize: 16 * 1024, maxHeaderListSize: 32 * 1024, maxHeaderFieldCount: 100))),
            configuration: ApplicationConfiguration(
                address: address, serverName: nil, availableConnectionsDelegate: MaximumAvailableConnections(Self.connectionLimit, logger: quiet)),
            onServerRunning: { channel in
                connections.opened(channel)
                await ready(channel.localAddress?.port)
            },
            logger: quiet)
        let serving = Task { try await application.run() }
        try await withTaskCancellationHandler {
            do {
                try await serving.value
            } catch where connections.isStopping {}
        } onCancel: {
            connections.stop()
            // For what goes on without a connection: nothing is accepted any more by then.
            Task {
                try? await Task.sleep(for: Self.stopLimit)
                serving.cancel()
            }
        }
    }

    private func enter(_ table: RouteTable, _ counts: RequestCounts) -> RouteTable {
        StateRoutes.add(to: table)
        EventRoutes.add(to: table)
        AgentRoutes.add(to: table)
        PressRoutes.add(to: table, household)
        DrinkRoutes.add(to: table)
        SessionRoutes.add(to: table)
        SettingRoutes.add(to: table)
        FileRoutes.add(to: table)
        AccountRoutes.add(to: table, household, pairing, addresses)
        PeopleRoutes.add(to: table, household)
        BottleRoutes.add(to: table)
        WidgetRoutes.add(to: table)
        HealthRoutes.add(to: table, household, counts, metrics)
        PageRoutes.add(to: table)
        return table
    }

    /// Every path with its methods, for whoever checks the description against them.
    static var routes: [String: Set<HTTPRequest.Method>] {
        let nobody = HTTPServer(Household([]), names: { [] }, log: Logger(label: "routes"), random: { 0 })
        return nobody.enter(RouteTable(Router(context: Visit.self), Household([])), RequestCounts()).entered
    }
}
