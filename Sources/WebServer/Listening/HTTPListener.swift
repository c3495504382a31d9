import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1

/// One address of a web server, with the limits that all of ours have, and a way of stopping that finishes what is
/// being answered.
package struct HTTPListener: Sendable {
    /// A connection on which nothing arrives for so long is closed; one whose answer goes on is not.
    static let idleSeconds: Int64 = 60
    /// What was asked for may go on for so long when the server is told to stop.
    static let stopLimit = Duration.seconds(5)

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
    private let peers: PeerPlaces?
    private let log: Logger

    /// - Parameters:
    ///   - connectionLimit: so many connections at once, or fewer where the process may not have so many files open;
    ///     more wait in the kernel's queue.
    ///   - peers: how many of them other machines may have; `nil`: all.
    package init(_ endpoint: Endpoint, connectionLimit: Int, peers: PeerPlaces? = nil, log: Logger) {
        (self.endpoint, self.connectionLimit, self.peers, self.log) = (endpoint, connectionLimit, peers, log)
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
        let places = ConnectionPlaces.room(for: connectionLimit, files: ConnectionPlaces.files)
        let connections = OpenConnections(peers?.sharing(places, of: connectionLimit))
        quiet.handler = RunningLog(quiet.handler) { connections.isStopping }
        let server = try HTTPServerBuilder.http1(
            configuration: .init(
                additionalChannelHandlers: [connections.watch(), LastAnswer()], idleTimeout: .seconds(Self.idleSeconds),
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: 16 * 1024, maxHeaderListSize: 32 * 1024, maxHeaderFieldCount: 100))
        ).buildServer(
            configuration: ServerConfiguration(
                address: address, availableConnectionsDelegate: MaximumAvailableConnections(places, logger: quiet)),
            eventLoopGroup: EventLoopGroupProvider.singleton.eventLoopGroup, logger: quiet,
            responder: Self.answering(responder, quiet)
        ) { channel in
            connections.opened(channel)
            await ready(channel.localAddress?.port)
        }
        let serving = Task { try await server.run() }
        try await withTaskCancellationHandler {
            do {
                try await serving.value
            } catch  where connections.isStopping {
            } catch let error as IOError {
                throw NotListening(error)
            }
        } onCancel: {
            connections.stop()
            // For what goes on without a connection: nothing is accepted any more by then.
            Task {
                try? await Task.sleep(for: Self.stopLimit)
                serving.cancel()
            }
        }
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
