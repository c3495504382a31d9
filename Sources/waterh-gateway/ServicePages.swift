import CommandSupport
import Foundation
import WebServer
import Logging
import Store
import Synchronization
import TrackerCore

/// The web server of the service: the page, and the socket for this user's commands.
struct ServicePages: Sendable {
    let host: ServiceHost
    let log: Logger
    let listen: String

    init(_ host: ServiceHost, _ plan: ServicePlan, log: Logger) {
        (self.host, self.log) = (host, log)
        let settings = try? host.resident.store.settings()
        listen = plan.listen ?? settings?.service.httpListen ?? ServiceSettings().httpListen
    }

    /// Serves until the task is cancelled.
    /// - Parameter printsLink: prints a sign-in link when the page is ready.
    func run(printsLink: Bool) async {
        let endpoints = HTTPServer.Endpoint(listen).map { [$0] } ?? []
        let (host, log) = (host, log)
        let server = HTTPServer(
            host.page, log: log,
            addresses: {
                let local = host.address.page("/")
                let port = local.flatMap { URLComponents(string: $0)?.port }
                return PageAddresses(local: local, others: endpoints.flatMap { Self.addresses($0, port) })
            }, metrics: { await host.metrics() })
        let pages = WebPages(server: server, log: log) {
            log.debug("The page is at \($0)")
            host.address.set($0)
            guard printsLink, !$0.hasPrefix("unix:"), let page = host.address.page("/sign-in#") else { return }
            let code = await server.administratorCode()
            TextOutput.standard.line("Open the page (this link works once, for 10 minutes): \(page)\(code)")
            TextOutput.standard.flush()
        }
        let path = host.resident.store.path
        let socket =
            path == ":memory:" ? nil : HTTPServer.Endpoint("unix:\(ServiceSocket.own(forStore: path))")
        await pages.run(on: endpoints + [socket].compactMap(\.self))
    }

    /// The page's addresses for other machines.
    private static func addresses(_ endpoint: HTTPServer.Endpoint, _ used: Int?) -> [String] {
        guard case .tcp(let host, let wanted) = endpoint else { return [] }
        let port = used ?? wanted
        switch host {
        case "0.0.0.0", "::": return outsideAddresses().map { "http://\($0):\(port)/" }
        case "localhost", "::1": return []
        default: return host.hasPrefix("127.") ? [] : ["http://\(host.contains(":") ? "[\(host)]" : host):\(port)/"]
        }
    }

    /// This machine's IPv4 addresses for other machines.
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
