/// Parses the server-sent events (WHATWG HTML) of an HTTP/1.1 response with chunked encoding.
package struct EventReader: Sendable {
    package struct Event: Hashable, Sendable {
        package var name: String
        /// The event's data; its lines are joined by line feeds.
        package var data: String
    }

    package struct Malformed: Error, Hashable, CustomStringConvertible {
        package let description: String
    }

    /// The maximum length in bytes of the head, of a chunk and of a line.
    private static let limit = 1 << 20

    private enum Part: Sendable {
        case head
        /// The length of a chunk follows.
        case length
        /// The number of remaining bytes of a chunk.
        case chunk(Int)
        /// The line break after a chunk follows.
        case chunkEnd
    }

    private var part = Part.head
    private var bytes: [UInt8] = []
    private var line: [UInt8] = []
    private var name = ""
    private var data: [String] = []

    package init() {}

    /// Parses further bytes of the response, and returns the events that they complete.
    package mutating func read(_ new: some Sequence<UInt8>) throws(Malformed) -> [Event] {
        bytes += new
        var events: [Event] = []
        while let end = try step(&events) { bytes.removeFirst(end) }
        guard bytes.count <= Self.limit, line.count <= Self.limit else {
            throw Malformed(description: "more than \(Self.limit) bytes without an end of line")
        }
        return events
    }

    /// Parses the next part of the buffer. Returns its length in bytes; `nil` if it is incomplete.
    private mutating func step(_ events: inout [Event]) throws(Malformed) -> Int? {
        switch part {
        case .head:
            guard let end = Self.end(of: [13, 10, 13, 10], in: bytes) else { return nil }
            let head = String(decoding: bytes[..<end], as: UTF8.self)
            guard let status = head.split(separator: " ").dropFirst().first.flatMap({ Int($0) }), status == 200 else {
                throw Malformed(
                    description: head.split(separator: "\r\n").first.map { "the response is: \($0)" }
                        ?? "there is no response")
            }
            guard head.lowercased().contains("transfer-encoding: chunked") else {
                throw Malformed(description: "the response is not an event stream")
            }
            part = .length
            return end
        case .length:
            guard let end = Self.end(of: [13, 10], in: bytes) else { return nil }
            let text = String(decoding: bytes[..<(end - 2)], as: UTF8.self).prefix { $0 != ";" }
            guard let length = Int(text, radix: 16), (0...Self.limit).contains(length) else {
                throw Malformed(description: "\"\(text.prefix(20))\" is not a valid chunk size")
            }
            guard length > 0 else { throw Malformed(description: "the stream has ended") }
            part = .chunk(length)
            return end
        case .chunk(let length):
            let count = min(length, bytes.count)
            guard count > 0 else { return nil }
            for byte in bytes[..<count] { append(byte, &events) }
            part = count == length ? .chunkEnd : .chunk(length - count)
            return count
        case .chunkEnd:
            guard bytes.count >= 2 else { return nil }
            part = .length
            return 2
        }
    }

    private mutating func append(_ byte: UInt8, _ events: inout [Event]) {
        guard byte == 10 else { return line.append(byte) }
        let text = String(decoding: line.last == 13 ? line.dropLast() : line[...], as: UTF8.self)
        line = []
        if text.isEmpty {
            if !data.isEmpty { events.append(Event(name: name, data: data.joined(separator: "\n"))) }
            (name, data) = ("", [])
        } else if let value = Self.field("event", text) {
            name = value
        } else if let value = Self.field("data", text), data.count < 64 {
            data.append(value)
        }
    }

    private static func field(_ name: String, _ line: String) -> String? {
        guard line.hasPrefix(name + ":") else { return nil }
        let value = line.dropFirst(name.count + 1)
        return String(value.hasPrefix(" ") ? value.dropFirst() : value)
    }

    private static func end(of pattern: [UInt8], in bytes: [UInt8]) -> Int? {
        guard bytes.count >= pattern.count else { return nil }
        return (pattern.count...bytes.count).first { bytes[($0 - pattern.count)..<$0].elementsEqual(pattern) }
    }
}
