/// Parses an HTTP/1.1 response (RFC 9112) as it arrives.
struct HTTPResponseReader: Sendable {
    struct Malformed: Error {}

    /// The maximum number of bytes that are kept: the head, or a chunk.
    private static let limit = 1 << 20

    private enum Part: Sendable {
        case head
        case chunks
        /// The number of remaining bytes of the body.
        case body(Int)
        case end
    }

    private var part = Part.head
    private var bytes: [UInt8] = []
    /// The status code; `nil` before the end of the head.
    private(set) var status: Int?

    var isSuccess: Bool { status.map { (200..<300).contains($0) } ?? false }

    var isComplete: Bool { if case .end = part { true } else { false } }

    /// Parses further bytes of the response, and returns the bytes of the body that they contain.
    mutating func read(_ new: some Sequence<UInt8>) throws(Malformed) -> [UInt8] {
        bytes += new
        var body: [UInt8] = []
        while try step(&body) {}
        guard bytes.count <= Self.limit else { throw Malformed() }
        return body
    }

    /// Parses the next part of the buffer. Returns `false` if it is incomplete.
    private mutating func step(_ body: inout [UInt8]) throws(Malformed) -> Bool {
        switch part {
        case .head:
            guard let end = bytes.firstRange(of: [13, 10, 13, 10]) else { return false }
            try readHead(String(decoding: bytes[..<end.lowerBound], as: UTF8.self))
            bytes.removeFirst(end.upperBound)
        case .chunks:
            guard let line = bytes.firstRange(of: [13, 10]) else { return false }
            let digits = String(decoding: bytes[..<line.lowerBound], as: UTF8.self).prefix { $0 != ";" }
            guard let size = Int(digits, radix: 16), (0...Self.limit / 2).contains(size) else { throw Malformed() }
            // A line break follows the chunk.
            let end = line.upperBound + size
            guard bytes.count >= end + 2 else { return false }
            body += bytes[line.upperBound..<end]
            bytes.removeFirst(end + 2)
            if size == 0 { part = .end }
        case .body(let remaining):
            let count = min(remaining, bytes.count)
            guard count > 0 else { return false }
            body += bytes[..<count]
            bytes.removeFirst(count)
            part = count < remaining ? .body(remaining - count) : .end
        case .end:
            bytes = []
            return false
        }
        return true
    }

    private mutating func readHead(_ head: String) throws(Malformed) {
        let lines = head.split(separator: "\r\n").map { $0.lowercased() }
        guard let start = lines.first, start.hasPrefix("http/1."),
            let status = start.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { throw Malformed() }
        self.status = status
        func value(_ name: String) -> String? {
            lines.first { $0.hasPrefix(name + ":") }?.dropFirst(name.count + 1).filter { $0 != " " }
        }
        if value("transfer-encoding") == "chunked" {
            part = .chunks
        } else if let length = value("content-length").flatMap({ Int($0) }), length >= 0 {
            part = length == 0 ? .end : .body(length)
        } else if status == 204 {
            part = .end
        } else {
            throw Malformed()
        }
    }
}
