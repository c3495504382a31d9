/// Parses the server-sent events (WHATWG HTML) of the service, whose lines end with a line feed.
package struct EventReader: Sendable {
    package struct Event: Hashable, Sendable {
        package var name: String
        /// The event's data; its lines are joined by line feeds.
        package var data: String
    }

    struct Malformed: Error {}

    /// The maximum length of an event in bytes.
    private static let limit = 1 << 20

    private var bytes: [UInt8] = []

    /// Parses further bytes of the stream, and returns the events that they complete.
    mutating func read(_ new: some Sequence<UInt8>) throws(Malformed) -> [Event] {
        bytes += new
        var events: [Event] = []
        while let end = bytes.firstRange(of: [10, 10]) {
            let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\n")
            bytes.removeFirst(end.upperBound)
            func values(_ field: String) -> [Substring] {
                lines.filter { $0.hasPrefix(field + ": ") }.map { $0.dropFirst(field.count + 2) }
            }
            guard !values("data").isEmpty else { continue }
            events.append(Event(name: String(values("event").last ?? ""), data: values("data").joined(separator: "\n")))
        }
        guard bytes.count <= Self.limit else { throw Malformed() }
        return events
    }
}
