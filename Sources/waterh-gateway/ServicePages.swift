import CommandKit
import Foundation
import HTTPAPI
import Logging
import Store
import Synchronization
import TrackerCore

/// Where the running service shows its people's days and takes their words: one page for all of them, and a socket of
/// each person's own for this user's commands.
struct ServicePages: Sendable {
    let house: House
    let log: Logger
    private let place: Place
    /// Where the page is to be shown, or `off`.
    let listen: String

    /// By which names this machine is called, and whether a proxy hands requests on, at any moment.
    private final class Place: Sendable {
        private let said: Mutex<(names: [String], isBehindProxy: Bool)>
        init(_ plan: ServicePlan) { said = Mutex((plan.names, plan.isBehindProxy)) }
        var names: [String] { said.withLock { $0.names } }
        var isBehindProxy: Bool { said.withLock { $0.isBehindProxy } }
        func change(to plan: ServicePlan) { said.withLock { $0 = (plan.names, plan.isBehindProxy) } }
    }

    init(_ house: House, _ plan: ServicePlan, log: Logger) async {
        (self.house, self.log) = (house, log)
        place = Place(plan)
        let settings = try? await house.residents.first?.store.settings()
        listen = plan.listen ?? settings?.service.httpListen ?? ServiceSettings().httpListen
    }

    /// Goes on with another plan. The page stays at its address.
    func take(_ plan: ServicePlan) { place.change(to: plan) }

    /// Serves until the task is cancelled.
    func run() async {
        let endpoints = HTTPServer.Endpoint(listen).map { [$0] } ?? []
        let (place, house, log) = (place, house, log)
        let host = ProcessInfo.processInfo.hostName
        let server = HTTPServer(
            house.pages, names: { place.names + [host, host + ".local"] }, isBehindProxy: { place.isBehindProxy },
            log: log,
            random: { UInt32.random(in: 0...UInt32.max) }, addresses: { endpoints.flatMap(Self.addresses) },
            metrics: { await house.metrics(of: $0) })
        let pages = WebPages(server: server, log: log) {
            log.debug("The page is at \($0)")
            house.address.set($0)
        }
        await house.open { socket, person in
            guard let endpoint = HTTPServer.Endpoint("unix:\(socket)") else { return }
            await pages.run(on: [endpoint], for: person)
        }
        await pages.run(on: endpoints)
    }

    /// Where other machines find a page that is shown at this endpoint.
    private static func addresses(_ endpoint: HTTPServer.Endpoint) -> [String] {
        guard case .tcp(let host, let port) = endpoint else { return [] }
        switch host {
        case "0.0.0.0", "::": return outsideAddresses().map { "http://\($0):\(port)/" }
        case "localhost", "::1": return []
        default: return host.hasPrefix("127.") ? [] : ["http://\(host.contains(":") ? "[\(host)]" : host):\(port)/"]
        }
    }

    /// This machine's IPv4 addresses that others can reach.
    private static func outsideAddresses() -> [String] {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return [] }
        defer { freeifaddrs(first) }
        var found: [String] = []
        var next = first
        while let entry = next {
            next = entry.pointee.ifa_next
            let isLoopback = entry.pointee.ifa_flags & UInt32(IFF_LOOPBACK) != 0
            guard let address = entry.pointee.ifa_addr, address.pointee.sa_family == sa_family_t(AF_INET), !isLoopback
            else { continue }
            var number = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { $0.pointee.sin_addr }
            let bytes = withUnsafeBytes(of: &number) { Array($0) }
            found.append(bytes.map(String.init).joined(separator: "."))
        }
        return found
    }
}
