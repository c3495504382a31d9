import CommandSupport
import Foundation
import WebServer
import Logging
import Utilities
import Synchronization
import TrackerService

/// The service's web server on all its addresses. A place that is taken, or a name that is not this machine's, is told
/// and tried again: the polls do not wait for it.
struct WebPages: Sendable {
    private static let socketPause = Duration.seconds(1)
    private static let firstPause = Duration.seconds(5)
    private static let longestPause = Duration.seconds(300)

    let server: HTTPServer
    let log: Logger
    /// Told what is in use once it is.
    var ready: @Sendable (String) async -> Void = { _ in }

    /// Serves until the task is cancelled.
    func run(on endpoints: [HTTPServer.Endpoint]) async {
        await withTaskGroup(of: Void.self) { group in
            for endpoint in endpoints { group.addTask { await serve(endpoint) } }
        }
    }

    private func serve(_ endpoint: HTTPServer.Endpoint) async {
        // Commands ask at the socket of the store's service: when another that had it goes, this one is there in a
        // moment.
        var backoff =
            if case .unix = endpoint { Backoff(first: Self.socketPause, longest: Self.socketPause) } else {
                Backoff(first: Self.firstPause, longest: Self.longestPause)
            }
        var isTold = false
        let bound = Mutex(false)
        var lock: NameLock?
        while !Task.isCancelled {
            do {
                lock = nil
                if case .unix(let path) = endpoint { lock = try Self.claim(path) }
                try await server.run(on: endpoint) { port in
                    // A system service's is its group's, too: the unit's folder says who may come near.
                    if case .unix(let path) = endpoint {
                        _ = chmod(path, Paths.ofService.map { path.hasPrefix($0 + "/") } == true ? 0o660 : 0o600)
                    }
                    bound.withLock { $0 = true }
                    await ready(Self.words(endpoint, port))
                }
                break
            } catch {
                guard !Task.isCancelled else { break }
                if !isTold {
                    log.warning(
                        "The page cannot be shown at \(Self.words(endpoint, nil)): \(error). It is tried again.")
                }
                isTold = true
                try? await Task.sleep(for: backoff.next(chance: 1))
            }
        }
        // Only our own: another service may listen there.
        if case .unix(let path) = endpoint, lock != nil, bound.withLock({ $0 }) { unlink(path) }
        withExtendedLifetime(lock) {}
    }

    /// Takes the socket of a service that is no more out of the way; one that answers is left alone.
    ///
    /// A service that begins has bound its socket a moment before it listens, and nobody answers there meanwhile: which
    /// of two has the place, their lock says.
    private static func claim(_ path: String) throws -> NameLock {
        let lock: NameLock
        do {
            lock = try NameLock(path + ".lock")
        } catch {
            throw Taken(
                description:
                    """
                    \(path).lock cannot be made \
                    (\((error as? POSIXError).map { String(cString: strerror($0.code.rawValue)) } ?? "\(error)"))
                    """
            )
        }
        guard lock.isOurs else { throw Taken(description: "another service listens there") }
        var status = stat()
        guard lstat(path, &status) == 0 else { return lock }
        guard status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == geteuid() else {
            throw Taken(description: "something else lies there")
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
