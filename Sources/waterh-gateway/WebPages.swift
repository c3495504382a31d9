import CommandSupport
import Foundation
import WebServer
import Logging
import Utilities
import Synchronization
import TrackerService

/// Serves the web server on all its addresses. An address in use is reported and retried while polls continue.
struct WebPages: Sendable {
    private static let socketPause = Duration.seconds(1)
    private static let firstPause = Duration.seconds(5)
    private static let longestPause = Duration.seconds(300)

    let server: HTTPServer
    let log: Logger
    /// Called when an address is bound.
    var ready: @Sendable (String) async -> Void = { _ in }

    func run(on endpoints: [HTTPServer.Endpoint]) async {
        await withTaskGroup(of: Void.self) { group in
            for endpoint in endpoints { group.addTask { await serve(endpoint) } }
        }
    }

    private func serve(_ endpoint: HTTPServer.Endpoint) async {
        // Commands use the socket, so it is retried at short intervals.
        var backoff =
            if case .unix = endpoint { Backoff(first: Self.socketPause, longest: Self.socketPause) } else {
                Backoff(first: Self.firstPause, longest: Self.longestPause)
            }
        var isReported = false
        let bound = Mutex(false)
        var lock: NameLock?
        while !Task.isCancelled {
            do {
                lock = nil
                if case .unix(let path) = endpoint { lock = try Self.claim(path) }
                try await server.run(on: endpoint) { port in
                    // The socket of a system service is open to its group.
                    if case .unix(let path) = endpoint {
                        _ = chmod(path, Paths.ofService.map { path.hasPrefix($0 + "/") } == true ? 0o660 : 0o600)
                    }
                    bound.withLock { $0 = true }
                    await ready(Self.words(endpoint, port))
                }
                break
            } catch {
                guard !Task.isCancelled else { break }
                if !isReported {
                    log.warning(
                        "The page cannot be shown at \(Self.words(endpoint, nil)): \(error). It is retried."
                    )
                }
                isReported = true
                try? await Task.sleep(for: backoff.next(chance: 1))
            }
        }
        // Remove the socket only with the lock, because another service could listen at the path.
        if case .unix(let path) = endpoint, lock != nil, bound.withLock({ $0 }) { unlink(path) }
        withExtendedLifetime(lock) {}
    }

    /// Removes the socket of an ended service; that of a running one stays. A starting service binds its socket before
    /// it listens, so the lock decides the owner.
    private static func claim(_ path: String) throws -> NameLock {
        let lock: NameLock
        do {
            lock = try NameLock(path + ".lock")
        } catch {
            throw Taken(
                description:
                    """
                    cannot create \(path).lock \
                    (\((error as? POSIXError).map { String(cString: strerror($0.code.rawValue)) } ?? "\(error)"))
                    """
            )
        }
        guard lock.isOurs else { throw Taken(description: "another service listens there") }
        var status = stat()
        guard lstat(path, &status) == 0 else { return lock }
        guard status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == geteuid() else {
            throw Taken(description: "another file is there")
        }
        guard !ServiceSocket(path: path).isAnswering else { throw Taken(description: "another service listens there") }
        unlink(path)
        return lock
    }

    private struct Taken: Error, CustomStringConvertible {
        let description: String
    }

    private static func words(_ endpoint: HTTPServer.Endpoint, _ port: Int?) -> String {
        switch endpoint {
        case .tcp(let host, let wanted): "http://\(host.contains(":") ? "[\(host)]" : host):\(port ?? wanted)/"
        case .unix(let path): "unix:\(path)"
        }
    }
}
