import ArgumentParser
import CommandKit
import FleetServer
import FleetStore
import Foundation
import HTTPListening
import Logging
import ServiceLog
import TrackerCore

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Takes entries of gateways in, and shows the overview.",
        discussion: """
            It keeps nothing itself: any number of them stand before one PostgreSQL, behind any load balancer, which \
            brings TLS, too. A batch is answered with 200 only when
            it is committed.
            """)

    @Option(
        help:
            """
            Where: 127.0.0.1:8090, [::1]:8090, 0.0.0.0:8090 (behind something that brings TLS), or unix:PATH. Port \
            0: any that is free.
            """
    )
    var listen = "127.0.0.1:8090"

    @Option(
        help:
            """
            So many batches are stored at once, each over a connection of its own (1 to 256). Two more connections \
            answer who looks.
            """
    )
    var batches = 8

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var speech: ServiceLogOptions

    func validate() throws {
        guard (1...256).contains(batches) else { throw ValidationError("--batches is 1 to 256.") }
        guard HTTPListener.Endpoint(listen) != nil else {
            throw ValidationError(
                "\"\(listen)\" is no place to listen at. Write 127.0.0.1:8090, [::1]:8090 or unix:/PATH.")
        }
    }

    func run() async throws {
        guard let endpoint = HTTPListener.Endpoint(listen) else { return }
        let signals = StopSignals.stream()
        speech.takeOver("waterh-fleet")
        try database.use { _ in }
        let log = speech.logger("waterh-fleet")
        let server = FleetServer(database.words, batches: batches, log: log) {
            Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
        }
        // Only what is certainly a socket that nobody answers at any more is in the way.
        if case .unix(let path) = endpoint { try Self.clear(path) }
        let status = try await withThrowingTaskGroup(of: ExitStatus?.self) { group in
            group.addTask {
                do {
                    try await server.run(on: endpoint) { port in
                        if case .unix(let path) = endpoint { _ = chmod(path, 0o660) }
                        TextOutput.standard.line("Serving at \(Self.words(endpoint, port))")
                        TextOutput.standard.flush()
                    }
                    return nil
                } catch {
                    throw CommandFailure(
                        .failed, "\(listen) cannot be listened at: \(error).",
                        advice: "Name another place with --listen.")
                }
            }
            group.addTask {
                for await signal in signals {
                    log.notice("The fleet's server stops, as it was asked to.")
                    return StopSignals.status(for: signal)
                }
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
        if case .unix(let path) = endpoint { unlink(path) }
        if let status, status != .done { throw ExitCode(status.rawValue) }
    }

    private static func clear(_ path: String) throws {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == geteuid(), !ServiceSocket(path: path).isAnswering
        else {
            throw CommandFailure(.failed, "Something else is at \(path).", advice: "Name another place with --listen.")
        }
        unlink(path)
    }

    private static func words(_ endpoint: HTTPListener.Endpoint, _ port: Int?) -> String {
        switch endpoint {
        case .tcp(let host, let wanted): "http://\(host.contains(":") ? "[\(host)]" : host):\(port ?? wanted)/"
        case .unix(let path): "unix:\(path)"
        }
    }
}
