import CommandKit
import Foundation
import MQTT
import Store
import Synchronization

/// A broker for one day that is played for real: Debian's mosquitto on a port of its own, which can be taken away and
/// comes back as it was, and somebody who listens to it. It ends with this program, however that ends. One task at a
/// time uses it.
final class LiveBroker: @unchecked Sendable {
    /// So long it may take to start, and to end.
    private static let limit = Duration.seconds(15)

    private let topic: String
    private let folder: ScratchFolder
    private let program: String
    private let port: Int
    private var shell: Process?
    private var alive: Pipe?
    private var session: MQTTSession?
    private let heard = Mutex<[String]>([])

    /// Debian's, where it is installed.
    static var program: String? { OtherProgram.path(of: "mosquitto") }

    /// - Parameters:
    ///   - program: mosquitto's path.
    ///   - topic: where drinks are told.
    init(_ program: String, topic: String) throws {
        (self.program, self.topic, port, folder) = (program, topic, try Self.freePort(), try ScratchFolder())
    }

    var url: String { "mqtt://127.0.0.1:\(port)" }

    /// Payloads that came at the topic, in order.
    var payloads: [String] { heard.withLock { $0 } }

    /// Starts it with what it kept, and listens.
    func start() async throws {
        let words = [
            "listener \(port) 127.0.0.1", "allow_anonymous true", "persistence true",
            "persistence_location \(folder.path)/", "max_queued_messages 0", "user \(NSUserName())",
        ]
        try words.joined(separator: "\n").write(
            toFile: folder.file("mosquitto.conf"), atomically: true, encoding: .utf8)
        let (shell, alive) = (Process(), Pipe())
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        // It goes when the pipe does: when it is stopped, or when this program is gone.
        shell.arguments = [
            "-c", #""$0" -c "$1" >"$2" 2>&1 & child=$!; read nothing; kill $child 2>/dev/null; wait $child"#, program,
            folder.file("mosquitto.conf"), folder.file("log"),
        ]
        (shell.standardInput, shell.standardOutput, shell.standardError) = (
            alive, FileHandle.nullDevice, FileHandle.nullDevice
        )
        try shell.runHearingSignals()
        (self.shell, self.alive) = (shell, alive)
        let end = ContinuousClock.now + Self.limit
        while true {
            do {
                session = try await listen()
                return
            } catch {
                guard ContinuousClock.now < end else {
                    let log = (try? String(contentsOfFile: folder.file("log"), encoding: .utf8)) ?? ""
                    throw LiveScenario.Unplayable(
                        description:
                            """
                            the broker did not start: \
                            \(log.split(separator: "\n").last.map(String.init) ?? "\(error)")
                            """
                    )
                }
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    /// The broker keeps for who listens what is told while nobody does.
    private func listen() async throws -> MQTTSession {
        var options = MQTTOptions(address: try MQTTAddress(url), clientID: "scenario")
        options.limit = .seconds(5)
        let session = try MQTTSession(options) { [weak self] message in
            if let text = message.text { self?.heard.withLock { $0.append(text) } }
        }
        do {
            _ = try await session.connected()
            try await session.subscribe([topic])
        } catch {
            await session.close()
            throw error
        }
        return session
    }

    /// Takes it away.
    func stop() async throws {
        // What was heard is confirmed before the broker goes: nothing of it comes again.
        await session?.close()
        session = nil
        try alive?.fileHandleForWriting.close()
        let end = ContinuousClock.now + Self.limit
        while shell?.isRunning == true {
            guard ContinuousClock.now < end else {
                throw LiveScenario.Unplayable(description: "the broker does not end")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        (shell, alive) = (nil, nil)
    }

    /// A port that nobody listens on right now.
    private static func freePort() throws -> Int {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, size) == 0 && getsockname(socket, $0, &size) == 0
            }
        }
        guard isBound else { throw LiveScenario.Unplayable(description: "no port is free for a broker") }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
