import Foundation

/// A client of the event stream with the received events.
final class EventStream: Sendable {
    struct Event: Sendable {
        var kind: String
        var id: String?
        var data: String

        var json: [String: Any] { (try? JSONSerialization.jsonObject(with: Data(data.utf8)) as? [String: Any]) ?? [:] }
    }

    private let client: RawHTTP

    /// - Parameter query: `shows=notifications&fields=…`
    init(_ house: ServedHousehold, _ query: String = "", lastID: String? = nil, headers: [String: String] = [:]) throws
    {
        client = try RawHTTP(port: house.port)
        let more =
            (lastID.map { "Last-Event-ID: \($0)\r\n" } ?? "") + headers.map { "\($0.key): \($0.value)\r\n" }.joined()
            + (headers["Authorization"] == nil ? house.signedIn : "")
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
