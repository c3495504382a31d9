import Foundation

/// A real HTTP server in another process (`peer.py`): records every request and has configurable responses.
package final class WebPeer: Sendable {
    package let port: Int
    private let program: RunningProgram
    private let scheme: String

    /// - Parameter certificate: enables TLS with this certificate and key.
    package init(port: Int = 0, certificate: (file: String, key: String)? = nil) async throws {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("peer.py").path
        guard let python = Program(system: "python3") else {
            throw Broker.Missing(description: "these tests need python3; apt-get install python3-minimal")
        }
        program = try python.start([script, String(port)] + (certificate.map { [$0.file, $0.key] } ?? []))
        scheme = certificate == nil ? "http" : "https"
        let line = try await program.line { $0.hasPrefix("port ") }
        guard let found = Int(line.dropFirst(5)) else { throw Broker.Missing(description: "no port in: \(line)") }
        self.port = found
    }

    package var url: String { "\(scheme)://127.0.0.1:\(port)" }

    package struct Seen: Sendable, Decodable {
        package var method: String
        package var path: String
        /// Names in lower case.
        package var headers: [String: String]
        package var body: String
        private var base64: String
        /// Seconds since 1970.
        package var at: Double

        package var bytes: [UInt8] { Data(base64Encoded: base64).map(Array.init) ?? [] }

        package var json: [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]) ?? [:]
        }
    }

    /// Sets the responses to the next requests, as a JSON array.
    package func answers(_ list: String) async throws { _ = try await control("answers", list) }
    /// Sets the response to all requests from now on, as a JSON object.
    package func rule(_ object: String) async throws { _ = try await control("rule", object) }
    package func seen() async throws -> [Seen] {
        try JSONDecoder().decode([Seen].self, from: Data(try await control("seen").utf8))
    }

    /// Waits for `count` requests.
    package func seen(_ count: Int, within limit: Double = 20) async throws -> [Seen] {
        let found: [Seen]? = try await event(within: limit) {
            let seen = try await seen()
            return seen.count >= count ? seen : nil
        }
        if let found { return found }
        return try await seen()
    }

    package func stop() async throws {
        program.send(signal: SIGKILL)
        _ = try await program.finish(limit: 10)
    }

    private func control(_ name: String, _ body: String? = nil) async throws -> String {
        guard let curl = Program(system: "curl") else { throw Broker.Missing(description: "these tests need curl") }
        let bodyOptions = body.map { _ in ["--data-binary", "@-"] } ?? []
        let result = try await curl.run(
            ["-sS", "-k", "--noproxy", "*", "-m", "20", "\(url)/control/\(name)"] + bodyOptions,
            input: Array((body ?? "").utf8))
        guard result.exitCode == 0 else { throw Broker.Missing(description: "curl: \(result.error)") }
        return result.output
    }
}
