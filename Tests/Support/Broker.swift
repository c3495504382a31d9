import Foundation

/// A real mosquitto of a test's own, on a port of its own. It keeps what it was told over a restart.
package final class Broker: @unchecked Sendable {
    package let port: Int
    package let folder: TemporaryFolder
    private let lines: [String]
    private var running: RunningProgram?

    /// - Parameter lines: what stands in its configuration instead of letting everybody in.
    package init(_ lines: (TemporaryFolder) throws -> [String] = { _ in ["allow_anonymous true"] }, port: Int? = nil)
        async throws
    {
        folder = try TemporaryFolder()
        self.port = try port ?? Self.freePort()
        self.lines = try lines(folder)
        try await start()
    }

    package var url: String { "mqtt://127.0.0.1:\(port)" }

    package func start() async throws {
        guard let program = Program(system: "mosquitto") else {
            throw Missing(description: "mosquitto is not installed: hardware/bench setup test")
        }
        let always = [
            "listener \(port) 127.0.0.1", "persistence true", "persistence_location \(folder.path)/",
            "autosave_interval 1", "autosave_on_changes true",
            "max_queued_messages 0", "user \(NSUserName())", "log_dest stderr", "log_type error", "log_type warning",
            "log_type notice", "log_type subscribe",
        ]
        try (always + lines).joined(separator: "\n").write(
            to: folder.url("mosquitto.conf"), atomically: true, encoding: .utf8)
        let running = try program.start(["-c", folder.file("mosquitto.conf")])
        self.running = running
        let answers: Bool? = await event { self.isListening ? true : running.isRunning ? nil : false }
        guard answers == true else { throw Missing(description: "mosquitto did not start: \(running.error)") }
    }

    /// What it wrote into its log since it was started last.
    package var log: String { running?.error ?? "" }

    /// Ends it at once, or as the signal asks.
    package func stop(_ signal: Int32 = SIGKILL) async throws {
        running?.send(signal: signal)
        _ = try await running?.finish(limit: 10)
        running = nil
    }

    /// Stops and goes on, as a machine that is swamped.
    package func signal(_ signal: Int32) { running?.send(signal: signal) }

    /// What others hear: a line `R TOPIC PAYLOAD` for each message, R being 1 for one that was kept for late comers.
    /// It returns when the broker has the subscription: what is said from then on is heard.
    package func listen(_ filter: String = "#", as id: String? = nil, more: [String] = []) async throws
        -> RunningProgram
    {
        guard let program = Program(system: "mosquitto_sub") else {
            throw Missing(description: "mosquitto_sub is not installed: hardware/bench setup test")
        }
        let remembered = id.map { ["-i", $0, "-c"] } ?? []
        let before = subscriptions(filter)
        let ear = try program.start(
            ["-h", "127.0.0.1", "-p", "\(port)", "-q", "1", "-F", "%r %t %p", "-t", filter] + remembered + more)
        guard running != nil else { return ear }
        let isHeard: Bool? = await event { self.subscriptions(filter) > before ? true : ear.isRunning ? nil : false }
        guard isHeard == true else {
            throw Missing(description: "mosquitto_sub did not subscribe: \(ear.error) \(running?.error ?? "")")
        }
        return ear
    }

    package func publish(_ topic: String, _ text: String, more: [String] = []) async throws {
        guard let program = Program(system: "mosquitto_pub") else {
            throw Missing(description: "mosquitto_pub is not installed: hardware/bench setup test")
        }
        let result = try await program.run(
            ["-h", "127.0.0.1", "-p", "\(port)", "-q", "1", "-t", topic, text.isEmpty ? "-n" : "-s"] + more,
            input: Array(text.utf8))
        guard result.exitCode == 0 else { throw Missing(description: "mosquitto_pub: \(result.error)") }
    }

    /// What stands at the broker for who comes late, in no order.
    package func kept() async throws -> [String] {
        try await publish("end", "x", more: ["-r"])
        let late = try await listen("#")
        _ = try await late.line { $0 == "1 end x" }
        // Once more, behind all of them.
        try await publish("end", "y")
        _ = try await late.line { $0 == "0 end y" }
        return late.output.split(separator: "\n").filter { $0.hasPrefix("1 ") && !$0.hasPrefix("1 end") }.map(
            String.init)
    }

    package struct Missing: Error, CustomStringConvertible {
        package let description: String
        package init(description: String) { self.description = description }
    }

    /// How often somebody subscribed to these topics, as the broker's log has it: `1795468583: CLIENT 1 TOPICS`.
    private func subscriptions(_ filter: String) -> Int {
        running?.error.split(separator: "\n").count { $0.hasSuffix(" 1 \(filter)") } ?? 0
    }

    private var isListening: Bool {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    /// A port that nobody listens on right now.
    package static func freePort() throws -> Int {
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
        guard isBound else { throw Missing(description: "no port is free") }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}

extension RunningProgram {
    /// Lines of `Broker.listen` at a topic: what was said there, oldest first.
    package func payloads(at topic: String) -> [String] {
        output.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
            return parts.count > 1 && parts[1] == topic ? parts.count > 2 ? String(parts[2]) : "" : nil
        }
    }
}
