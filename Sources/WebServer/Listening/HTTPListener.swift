import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import Synchronization

extension HTTPServer {
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
}

/// A listening address of the server, with its limits and a graceful stop.
struct HTTPListener: Sendable {
    /// The maximum number of connections. It is reduced if the process may open fewer files. Further connections wait
    /// in the kernel's queue.
    private static let connectionLimit = 2500
    /// The idle time after which a connection is closed, unless it has a response in progress.
    static let idleSeconds: Int64 = 60
    static let stopLimit = Duration.seconds(5)
    /// The pause between the last accepted connection and closing the address.
    static let closePause = Duration.milliseconds(100)

    let endpoint: HTTPServer.Endpoint
    let responder: RouterResponder<WebRequestContext>
    let log: Logger

    /// Serves until the task is cancelled.
    /// - Parameter ready: called once, with the port in use.
    /// - Throws: an error with the reason if the address cannot be bound.
    func run(ready: @escaping @Sendable (_ port: Int?) async -> Void) async throws {
        let address: BindAddress =
            switch endpoint {
            case .tcp(let host, let port): .hostname(host, port: port)
            case .unix(let path): .unixDomainSocket(path: path)
            }
        var errorLog = log
        errorLog.logLevel = .error
        let listener = Mutex<(any Channel)?>(nil)
        let server = Server(
            childChannelSetup: HTTP1Channel(
                responder: respond,
                configuration: .init(
                    additionalChannelHandlers: [ConnectionTimeouts()], idleTimeout: .seconds(Self.idleSeconds),
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: 16 * 1024, maxHeaderListSize: 32 * 1024, maxHeaderFieldCount: 100))),
            configuration: ServerConfiguration(
                address: address,
                availableConnectionsDelegate: MaximumAvailableConnections(
                    Self.connectionCount(Self.connectionLimit, files: Self.fileLimit), logger: errorLog)),
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
    @Sendable private func respond(
        to request: Request, writer: consuming ResponseWriter, channel: any Channel
    ) async throws {
        let context = WebRequestContext(source: .init(channel: channel, logger: log))
        // The middleware has converted every error to a response.
        var response = try await responder.respond(to: request, context: context)
        response.headers[.date] = Self.date()
        do {
            try await writer.write(response: response.head, body: response.body)
        } catch is HTTPParserError {
            // Hummingbird would respond to the original error with a second response.
            throw InvalidRequestDuringResponse()
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
