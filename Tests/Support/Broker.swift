import Foundation

/// A real mosquitto with a port of its own. It keeps retained messages over a restart.
package final class Broker: @unchecked Sendable {
    package let port: Int
    package let folder: TemporaryFolder
    private let lines: [String]
    private var running: RunningProgram?

    /// - Parameter lines: lines of mosquitto.conf; by default the broker accepts all clients.
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
        // Not 0: with it, mosquitto 2.0.16 and Debian's 2.0.11 disconnect a client after each rejected message.
        let defaultLines = [
            "listener \(port) 127.0.0.1", "persistence true", "persistence_location \(folder.path)/",
            "autosave_interval 1", "autosave_on_changes true", "max_queued_messages 100000", "user \(NSUserName())",
            "log_dest stderr", "log_type error", "log_type warning", "log_type notice", "log_type subscribe",
        ]
        try (defaultLines + lines).joined(separator: "\n").write(
            to: folder.url("mosquitto.conf"), atomically: true, encoding: .utf8)
        let running = try program.start(["-c", folder.file("mosquitto.conf")])
        self.running = running
        let isReady: Bool? = await event { self.isListening ? true : running.isRunning ? nil : false }
        guard isReady == true else { throw Missing(description: "mosquitto did not start: \(running.error)") }
    }

    package var log: String { running?.error ?? "" }

    package func stop(_ signal: Int32 = SIGKILL) async throws {
        running?.send(signal: signal)
        _ = try await running?.finish(limit: 10)
        running = nil
    }

    /// Sends a signal, e.g. to suspend and resume the broker.
    package func signal(_ signal: Int32) { running?.send(signal: signal) }

    /// Starts a subscriber, which prints a line `R TOPIC PAYLOAD` for each message; R is 1 for a retained one. Returns
    /// after the subscription is active.
    package func listen(_ filter: String = "#", as client: String? = nil, qos: Int = 1) async throws -> RunningProgram {
        guard let program = Program(system: "mosquitto_sub") else {
            throw Missing(description: "mosquitto_sub is not installed: hardware/bench setup test")
        }
        let sessionOptions = client.map { ["-i", $0, "-c"] } ?? []
        let before = subscriptions(filter, qos)
        let subscriber = try program.start(
            ["-h", "127.0.0.1", "-p", "\(port)", "-q", "\(qos)", "-F", "%r %t %p", "-t", filter] + sessionOptions)
        guard running != nil else { return subscriber }
        let isSubscribed: Bool? = await event {
            self.subscriptions(filter, qos) > before ? true : subscriber.isRunning ? nil : false
        }
        guard isSubscribed == true else {
            throw Missing(description: "mosquitto_sub did not subscribe: \(subscriber.error) \(running?.error ?? "")")
        }
        return subscriber
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

    /// The retained messages as lines `1 TOPIC PAYLOAD`, in no order.
    package func retainedMessages() async throws -> [String] {
        try await publish("end", "x", more: ["-r"])
        let subscriber = try await listen("#")
        _ = try await subscriber.line { $0 == "1 end x" }
        // A marker after all retained messages.
        try await publish("end", "y")
        _ = try await subscriber.line { $0 == "0 end y" }
        return subscriber.output.split(separator: "\n").filter { $0.hasPrefix("1 ") && !$0.hasPrefix("1 end") }.map(
            String.init)
    }

    package struct Missing: Error, CustomStringConvertible {
        package let description: String
        package init(description: String) { self.description = description }
    }

    /// The number of subscriptions to these topics in the broker's log: `1795468583: CLIENT QOS TOPICS`.
    private func subscriptions(_ filter: String, _ qos: Int) -> Int {
        running?.error.split(separator: "\n").count { $0.hasSuffix(" \(qos) \(filter)") } ?? 0
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
    /// The payloads of a topic in the output of `Broker.listen`, oldest first.
    package func payloads(at topic: String) -> [String] {
        output.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
            return parts.count > 1 && parts[1] == topic ? parts.count > 2 ? String(parts[2]) : "" : nil
        }
    }
}
