import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import Synchronization

/// One address of a web server, with the limits that all of ours have, and a way of stopping that finishes what is
/// being answered.
package struct HTTPListener: Sendable {
    /// A connection on which nothing arrives for so long is closed; one whose answer goes on is not.
    static let idleSeconds: Int64 = 60
    /// Limit for responses in progress when the server stops.
    static let stopLimit = Duration.seconds(5)
    /// Between the last connection that is accepted and the end of the address.
    static let settling = Duration.milliseconds(100)

    /// One address to listen on.
    package enum Endpoint: Hashable, Sendable {
        case tcp(host: String, port: Int)
        /// A socket in the file system, which only this user can open.
        case unix(path: String)

        /// `127.0.0.1:8077`, `[::1]:8077`, `unix:PATH`.
        package init?(_ text: String) {
            if text.hasPrefix("unix:") {
                let path = String(text.dropFirst(5))
                guard path.hasPrefix("/"), path.utf8.count < 108 else { return nil }
                self = .unix(path: path)
                return
            }
            guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
                return nil
            }
            var host = text[..<colon]
            if host.hasPrefix("["), host.hasSuffix("]") {
                host = host.dropFirst().dropLast()
            } else if host.contains(":") {
                return nil
            }
            guard !host.isEmpty else { return nil }
            self = .tcp(host: String(host), port: Int(port))
        }
    }

    private let endpoint: Endpoint
    private let connectionLimit: Int
    private let log: Logger

    /// - Parameter connectionLimit: so many connections at once, or fewer where the process may not have so many files
    ///   open;
    ///   more wait in the kernel's queue.
    package init(_ endpoint: Endpoint, connectionLimit: Int, log: Logger) {
        (self.endpoint, self.connectionLimit, self.log) = (endpoint, connectionLimit, log)
    }

    /// Serves until the task is cancelled.
    /// - Parameter ready: told once, with the port in use.
    /// - Throws: in words, where nothing can be listened there.
    package func run<Responder: HTTPResponder>(
        _ responder: Responder, ready: @escaping @Sendable (_ port: Int?) async -> Void
    ) async throws
    where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
        let address: BindAddress
        switch endpoint {
        case .tcp(let host, let port): address = .hostname(host, port: port)
        case .unix(let path): address = .unixDomainSocket(path: path)
        }
        var quiet = log
        quiet.logLevel = .error
        let listener = Mutex<(any Channel)?>(nil)
        let server = Server(
            childChannelSetup: HTTP1Channel(
                responder: Self.answering(responder, quiet),
                configuration: .init(
                    additionalChannelHandlers: [ConnectionTimeouts()], idleTimeout: .seconds(Self.idleSeconds),
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: 16 * 1024, maxHeaderListSize: 32 * 1024, maxHeaderFieldCount: 100))),
            configuration: ServerConfiguration(
                address: address,
                availableConnectionsDelegate: MaximumAvailableConnections(
                    Self.places(connectionLimit, files: Self.fileLimit), logger: quiet)),
            onServerRunning: { channel in
                listener.withLock { $0 = channel }
                await ready(channel.localAddress?.port)
            }, eventLoopGroup: EventLoopGroupProvider.singleton.eventLoopGroup, logger: quiet)
        let serving = Task { try await server.run() }
        try await withTaskCancellationHandler {
            do { try await serving.value } catch let error as IOError { throw NotListening(error) }
        } onCancel: {
            let channel = listener.withLock { $0 }
            Task {
                // A connection that is accepted while the address closes would end the process (swift-nio #2637).
                try? await channel?.setOption(.autoRead, value: false).get()
                try? await Task.sleep(for: Self.settling)
                let limit = Task {
                    try await Task.sleep(for: Self.stopLimit)
                    serving.cancel()
                }
                try? await server.shutdownGracefully()
                limit.cancel()
            }
        }
    }

    /// Number of connections that the limit of open files allows: half of the files that are left after those for
    /// stores, the bus and brokers, because there may be a second address. A process without a file to open cannot go
    /// on.
    static func places(_ wanted: Int, files: Int) -> Int { max(8, min(wanted, (files - 128) / 2)) }

    /// Number of files that this process may have open.
    private static var fileLimit: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        return Int(clamping: limit.rlim_cur)
    }

    /// Why nothing can be listened at an address, in words: NIO's name the call of the system that failed.
    struct NotListening: Error, CustomStringConvertible {
        let description: String

        init(_ error: IOError) {
            description =
                switch error.errnoCode {
                case EADDRINUSE: "another program listens there already (ss -ltnp says which)"
                case EACCES, EPERM: "this user may not listen there"
                case EADDRNOTAVAIL: "this machine does not have that address"
                case let code: String(cString: strerror(code))
                }
        }
    }

    // MARK: - Parts

    /// What Hummingbird's `Application` does with a request, without the clock that it keeps for the field `Date`.
    private static func answering<Responder: HTTPResponder>(_ responder: Responder, _ log: Logger)
        -> HTTPChannelHandler.Responder
    where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
        let date = DateField()
        return { (request, writer: consuming ResponseWriter, channel) in
            var log = log
            log[metadataKey: "hb.request.id"] = .stringConvertible(RequestID())
            var response: Response
            do {
                response = try await responder.respond(
                    to: request, context: Responder.Context(source: .init(channel: channel, logger: log)))
            } catch let error as HTTPParserError {
                throw error
            } catch {
                log.debug("A request failed in a way that is not known.", metadata: ["error": "\(error)"])
                response = Response(status: .internalServerError)
            }
            response.headers[.date] = date.text(at: time(nil))
            do {
                try await writer.write(response: response.head, body: response.body)
            } catch is HTTPParserError {
                // Thrown as it is it would be answered with a second response.
                throw BrokenWhileAnswered()
            }
        }
    }

    /// What arrived while an answer was written is no HTTP: the connection ends.
    private struct BrokenWhileAnswered: Error {}
}
