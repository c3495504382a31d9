import Foundation

/// A client that sends raw bytes over a socket.
final class RawHTTP: @unchecked Sendable {
    /// Timeout in seconds.
    private static let patience = 20
    /// The timeout while other data arrives: a stream sends at least every 15 seconds.
    private static let wholePatience = Duration.seconds(60)

    private let descriptor: Int32
    private var buffer: [UInt8] = []

    struct Failed: Error, CustomStringConvertible { let description: String }

    init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var wait = timeval(tv_sec: Self.patience, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isOpen = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) == 0 }
        }
        guard isOpen else {
            throw Failed(description: "cannot connect to port \(port): \(String(cString: strerror(errno)))")
        }
    }

    deinit { close(descriptor) }

    func send(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Reads until `isEnough` returns true or the other end closes. On a thread of its own, because the server needs
    /// those of Swift's tasks.
    func read(until isEnough: @escaping @Sendable (String) -> Bool) async throws -> String {
        try await withCheckedThrowingContinuation { done in
            Thread.detachNewThread { done.resume(with: Result { try self.readBlocking(until: isEnough) }) }
        }
    }

    private func readBlocking(until isEnough: (String) -> Bool) throws -> String {
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        let end = ContinuousClock.now + Self.wholePatience
        while true {
            let text = String(decoding: buffer, as: UTF8.self)
            if isEnough(text) { return text }
            guard ContinuousClock.now < end else {
                throw Failed(description: "it did not come within \(Self.wholePatience): \(text.suffix(300))")
            }
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count >= 0 else {
                throw Failed(description: "nothing came for \(Self.patience) s after: \(text.suffix(300))")
            }
            guard count > 0 else { return text }
            buffer += chunk[..<count]
        }
    }

    /// Drops the received bytes.
    func forget() { buffer = [] }

    struct Reply {
        var status: Int
        var headers: [String: String]
        var body: String

        var json: [String: Any] { (try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]) ?? [:] }
        var code: String? { json["code"] as? String }
    }

    /// One request on a connection of its own.
    static func ask(
        _ port: Int, _ method: String, _ path: String, _ body: String? = nil, headers: [String: String] = [:],
        host: String? = nil
    ) async throws -> Reply {
        var lines = ["\(method) \(path) HTTP/1.1", "Host: \(host ?? "127.0.0.1:\(port)")", "Connection: close"]
        if let body {
            lines.append("Content-Length: \(body.utf8.count)")
            if headers["Content-Type"] == nil { lines.append("Content-Type: application/json") }
        }
        lines += headers.map { "\($0.key): \($0.value)" }
        return try await exchange(port, lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? ""))
    }

    /// Sends these bytes on a connection of its own, and reads until the server closes it.
    static func exchange(_ port: Int, _ text: String) async throws -> Reply {
        let client = try RawHTTP(port: port)
        client.send(text)
        return try reply(try await client.read { _ in false })
    }

    static func reply(_ text: String) throws -> Reply {
        guard let end = text.firstRange(of: "\r\n\r\n") else {
            throw Failed(description: "no answer: \(text.prefix(200))")
        }
        let lines = text[..<end.lowerBound].split(separator: "\r\n")
        guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
            throw Failed(description: "no status: \(text.prefix(200))")
        }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(
                in: .whitespaces)
        }
        return Reply(status: status, headers: headers, body: String(text[end.upperBound...]))
    }
}

/// A client of the event stream with the received events.
final class EventStream: Sendable {
    struct Event: Sendable {
        var kind: String
        var id: String?
        var data: String

        var json: [String: Any] { (try? JSONSerialization.jsonObject(with: Data(data.utf8)) as? [String: Any]) ?? [:] }
    }

    private let client: RawHTTP
    private let server: TestServer

    /// A stream after its first event, which has the state.
    static func opened(_ server: TestServer, _ query: String = "", headers: [String: String] = [:]) async throws
        -> EventStream
    {
        let stream = try EventStream(server, query, headers: headers)
        _ = try await stream.events { $0.kind == "state" }
        return stream
    }

    /// - Parameter query: `shows=notifications&fields=…`
    init(_ server: TestServer, _ query: String = "", lastID: String? = nil, headers: [String: String] = [:]) throws {
        self.server = server
        client = try RawHTTP(port: server.port)
        let more =
            (lastID.map { "Last-Event-ID: \($0)\r\n" } ?? "") + headers.map { "\($0.key): \($0.value)\r\n" }.joined()
            + (headers["Authorization"] == nil ? server.signedIn : "")
        client.send("GET /api/v1/events\(query.isEmpty ? "" : "?")\(query) HTTP/1.1\r\nHost: localhost\r\n\(more)\r\n")
    }

    /// The events up to the first one that fits.
    func events(until fits: @escaping @Sendable (Event) -> Bool) async throws -> [Event] {
        let text = try await client.read { text in Self.events(in: text).contains(where: fits) }
        let events = Self.events(in: text)
        return Array(events.prefix { !fits($0) }) + events.filter(fits).prefix(1)
    }

    /// The first `count` notifications.
    func notices(_ count: Int) async throws -> [Event] {
        Self.notices(in: try await client.read { text in Self.notices(in: text).count >= count })
    }

    /// Drops the received events.
    func forget() { client.forget() }

    private static func notices(in text: String) -> [Event] { events(in: text).filter { $0.kind == "notify" } }

    /// Complete events: `event:`, `id:` and `data:` lines up to an empty one. Chunk boundaries are between events.
    private static func events(in text: String) -> [Event] {
        text.replacing("\r\n", with: "\n").components(separatedBy: "\n\n").dropLast().compactMap { block in
            var event = Event(kind: "", id: nil, data: "")
            for line in block.split(separator: "\n") {
                if line.hasPrefix("event: ") { event.kind = String(line.dropFirst(7)) }
                if line.hasPrefix("id: ") { event.id = String(line.dropFirst(4)) }
                if line.hasPrefix("data: ") { event.data = String(line.dropFirst(6)) }
            }
            return event.kind.isEmpty ? nil : event
        }
    }
}
