import Foundation
package import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import NIOHTTP1
import Synchronization

/// A listening address of a web server, with its limits and a graceful stop.
package struct HTTPListener: Sendable {
    /// The idle time after which a connection is closed, unless it has a response in progress.
    static let idleSeconds: Int64 = 60
    static let stopLimit = Duration.seconds(5)
    /// The pause between the last accepted connection and closing the address.
    static let closePause = Duration.milliseconds(100)

    package enum Endpoint: Hashable, Sendable {
        case tcp(host: String, port: Int)
        /// A socket in the file system, accessible only to this user.
        case unix(path: String)

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

    /// - Parameter connectionLimit: the maximum number of connections. It is reduced if the process may open fewer
    ///   files. Further connections wait in the kernel's queue.
    package init(_ endpoint: Endpoint, connectionLimit: Int, log: Logger) {
        (self.endpoint, self.connectionLimit, self.log) = (endpoint, connectionLimit, log)
    }

    /// Serves until the task is cancelled.
    /// - Parameter ready: called once, with the port in use.
    /// - Throws: an error with the reason if the address cannot be bound.
    package func run<Responder: HTTPResponder>(
        _ responder: Responder, ready: @escaping @Sendable (_ port: Int?) async -> Void
    ) async throws
    where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
        let address: BindAddress
        switch endpoint {
        case .tcp(let host, let port): address = .hostname(host, port: port)
        case .unix(let path): address = .unixDomainSocket(path: path)
        }
        var errorLog = log
        errorLog.logLevel = .error
        let listener = Mutex<(any Channel)?>(nil)
        let server = Server(
            childChannelSetup: HTTP1Channel(
                responder: Self.responderWithDate(responder, errorLog),
                configuration: .init(
                    additionalChannelHandlers: [ConnectionTimeouts()], idleTimeout: .seconds(Self.idleSeconds),
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: 16 * 1024, maxHeaderListSize: 32 * 1024, maxHeaderFieldCount: 100))),
            configuration: ServerConfiguration(
                address: address,
                availableConnectionsDelegate: MaximumAvailableConnections(
                    Self.connectionCount(connectionLimit, files: Self.fileLimit), logger: errorLog)),
            onServerRunning: { channel in
                listener.withLock { $0 = channel }
                await ready(channel.localAddress?.port)
            }, eventLoopGroup: EventLoopGroupProvider.singleton.eventLoopGroup, logger: errorLog)
        let serving = Task { try await server.run() }
        try await withTaskCancellationHandler {
            do { try await serving.value } catch let error as IOError { throw BindFailure(error) }
        } onCancel: {
            let channel = listener.withLock { $0 }
            Task {
                // Stop accepting first: accepting while the address closes would end the process (swift-nio #2637).
                try? await channel?.setOption(.autoRead, value: false).get()
                try? await Task.sleep(for: Self.closePause)
                let limit = Task {
                    try await Task.sleep(for: Self.stopLimit)
                    serving.cancel()
                }
                try? await server.shutdownGracefully()
                limit.cancel()
            }
        }
    }

    /// The number of connections that the limit of open files allows. 128 files are for stores, buses and brokers, and
    /// the rest is divided between two addresses.
    static func connectionCount(_ wanted: Int, files: Int) -> Int { max(8, min(wanted, (files - 128) / 2)) }

    private static var fileLimit: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        return Int(clamping: limit.rlim_cur)
    }

    /// The reason why an address cannot be bound, as text: NIO's error only names the failed system call.
    struct BindFailure: Error, CustomStringConvertible {
        let description: String

        init(_ error: IOError) {
            description =
                switch error.errnoCode {
                case EADDRINUSE: "another program listens there (find it with: ss -ltnp)"
                case EACCES, EPERM: "this user has no permission to listen there"
                case EADDRNOTAVAIL: "this machine does not have that address"
                case let code: String(cString: strerror(code))
                }
        }
    }

    /// Responds as Hummingbird's `Application` does, but computes the header `Date` for each response.
    private static func responderWithDate<Responder: HTTPResponder>(_ responder: Responder, _ log: Logger)
        -> HTTPChannelHandler.Responder
    where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
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
                log.debug("A request failed with an unknown error.", metadata: ["error": "\(error)"])
                response = Response(status: .internalServerError)
            }
            response.headers[.date] = Self.date()
            do {
                try await writer.write(response: response.head, body: response.body)
            } catch is HTTPParserError {
                // Hummingbird would respond to the original error with a second response.
                throw InvalidRequestDuringResponse()
            }
        }
    }

    /// The current time as an HTTP date (RFC 9110, 5.6.7). Hummingbird's own clock would wake the process every second.
    private static func date() -> String {
        var (now, parts) = (time(nil), tm())
        gmtime_r(&now, &parts)
        var bytes = [CChar](repeating: 0, count: 64)
        // The names of days and months are English, because no program here sets a locale.
        let count = strftime(&bytes, bytes.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
        return String(decoding: bytes[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Invalid HTTP arrived during a response, so the connection ends.
    private struct InvalidRequestDuringResponse: Error {}
}
