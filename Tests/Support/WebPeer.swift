import Foundation

/// A real HTTP server in another process (`peer.py`): prints every request and has configurable responses.
package final class WebPeer: Sendable {
    package let port: Int
    private let program: RunningProgram
    private let responses: TemporaryFolder
    private let scheme: String

    /// - Parameter certificate: enables TLS with this certificate and key.
    package init(certificate: (file: String, key: String)? = nil) async throws {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("peer.py").path
        guard let python = Program(system: "python3") else {
            throw Broker.Missing(description: "these tests need python3; apt-get install python3-minimal")
        }
        responses = try TemporaryFolder()
        program = try python.start([script, responses.path] + (certificate.map { [$0.file, $0.key] } ?? []))
        scheme = certificate == nil ? "http" : "https"
        let line = try await program.line { $0.hasPrefix("port ") }
        guard let found = Int(line.dropFirst(5)) else { throw Broker.Missing(description: "no port in: \(line)") }
        self.port = found
    }

    package var url: String { "\(scheme)://127.0.0.1:\(port)" }

    package struct Request: Sendable, Decodable {
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

    /// Sets the response to all requests from now on, or to the next one, as a JSON object.
    package func rule(_ object: String, once: Bool = false) throws {
        try Data(object.utf8).write(to: responses.url(once ? "once" : "rule"), options: .atomic)
    }

    /// The requests in order of arrival.
    package func requests() throws -> [Request] {
        // The first line is the port, and the last piece can be an incomplete line.
        try program.output.split(separator: "\n", omittingEmptySubsequences: false).dropFirst().dropLast().map {
            try JSONDecoder().decode(Request.self, from: Data($0.utf8))
        }
    }

    /// Waits for `count` requests.
    package func requests(_ count: Int) async throws -> [Request] {
        _ = try await eventually { try requests().count >= count }
        return try requests()
    }

    package func stop() async throws {
        program.send(signal: SIGKILL)
        _ = try await program.finish(limit: 10)
    }
}
