import CommandSupport
import Foundation
import Logging
import Store
import TrackerCore
import Utilities
import WebServer

/// Serves the page, and the socket for this user's commands.
struct ServicePages: Sendable {
    private static let socketPause = Duration.seconds(1)
    private static let firstPause = Duration.seconds(5)
    private static let longestPause = Duration.seconds(300)

    let host: ServiceHost
    let log: Logger
    let listen: String

    init(_ host: ServiceHost, _ plan: ServicePlan, log: Logger) {
        (self.host, self.log) = (host, log)
        let settings = try? host.store.settings()
        listen = plan.listen ?? settings?.service.httpListen ?? ServiceSettings().httpListen
    }

    /// Serves until the task is cancelled. An address in use is reported and retried while polls continue.
    /// - Parameter printsLink: prints a sign-in link when the page is ready.
    func run(printsLink: Bool) async {
        let (host, page, path) = (host, HTTPServer.Endpoint(listen), host.store.path)
        let server = HTTPServer(
            host.app, log: log,
            addresses: {
                let local = host.address.page("/")
                let port = local.flatMap { URLComponents(string: $0)?.port }
                return PageAddresses(local: local, others: page.map { Self.addresses($0, port) } ?? [])
            }, metrics: { await host.metrics() })
        let socket =
            path == ":memory:" ? nil : HTTPServer.Endpoint("unix:\(ServiceSocket.listeningPath(forStore: path))")
        await withTaskGroup(of: Void.self) { group in
            for endpoint in [page, socket].compactMap(\.self) {
                group.addTask { await serve(endpoint, server) { await didBind($0, server, printsLink: printsLink) } }
            }
        }
    }

    private func didBind(_ bound: String, _ server: HTTPServer, printsLink: Bool) async {
        log.debug("The page is at \(bound)")
        host.address.set(bound)
        guard printsLink, !bound.hasPrefix("unix:"), let page = host.address.page("/sign-in#") else { return }
        let code = await server.administratorCode()
        TextOutput.standard.line("Open the page (this link works once, for 10 minutes): \(page)\(code)")
        TextOutput.standard.flush()
    }

    private static func addresses(_ endpoint: HTTPServer.Endpoint, _ used: Int?) -> [String] {
        guard case .tcp(let host, let configured) = endpoint else { return [] }
        let port = used ?? configured
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

    // MARK: - Serving one address

    private func serve(
        _ endpoint: HTTPServer.Endpoint, _ server: HTTPServer, ready: @escaping @Sendable (String) async -> Void
    ) async {
        // Commands need the socket, so binding it is retried at short intervals.
        var backoff =
            if case .unix = endpoint { Backoff(first: Self.socketPause, longest: Self.socketPause) } else {
                Backoff(first: Self.firstPause, longest: Self.longestPause)
            }
        var isReported = false
        var lock: ProcessLock?
        while !Task.isCancelled {
            do {
                lock = nil
                if case .unix(let path) = endpoint { lock = try Self.lockSocket(path) }
                try await server.run(on: endpoint) { port in
                    // The socket of a system service is open to its group.
                    if case .unix(let path) = endpoint {
                        _ = chmod(path, Paths.serviceFolder.map { path.hasPrefix($0 + "/") } == true ? 0o660 : 0o600)
                    }
                    await ready(Self.text(endpoint, port))
                }
                break
            } catch {
                guard !Task.isCancelled else { break }
                if !isReported {
                    log.warning("Serving at \(Self.text(endpoint, nil)) failed: \(error). It is retried automatically.")
                }
                isReported = true
                try? await Task.sleep(for: backoff.next(jitter: 1))
            }
        }
        // Remove the socket only with the lock, because another service can listen at the path.
        if case .unix(let path) = endpoint, lock != nil { unlink(path) }
        withExtendedLifetime(lock) {}
    }

    /// Removes the socket of an ended service. Throws if a service still uses it. A starting service binds its socket
    /// before it listens, so the lock determines the owner.
    private static func lockSocket(_ path: String) throws -> ProcessLock {
        let lock: ProcessLock
        do {
            lock = try ProcessLock(path + ".lock")
        } catch {
            throw InUse(description: "cannot create \(path).lock (\(FileErrorText.text(error)))")
        }
        guard lock.isOurs else { throw InUse(description: "another service listens there") }
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else { return lock }
        guard attributes[.type] as? FileAttributeType == .typeSocket,
            attributes[.ownerAccountID] as? Int == Int(geteuid())
        else {
            throw InUse(description: "a file that is not a socket exists there")
        }
        guard !ServiceSocket(path: path).isAnswering else { throw InUse(description: "another service listens there") }
        unlink(path)
        return lock
    }

    private struct InUse: Error, CustomStringConvertible {
        let description: String
    }

    private static func text(_ endpoint: HTTPServer.Endpoint, _ port: Int?) -> String {
        switch endpoint {
        case .tcp(let host, let configured): "http://\(host.contains(":") ? "[\(host)]" : host):\(port ?? configured)/"
        case .unix(let path): "unix:\(path)"
        }
    }
}
