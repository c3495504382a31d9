import CommandSupport
import Support
import Testing

/// Server-sent events in an HTTP response, split at any position.
@Suite struct EventReaderTests {
    private static let answer: [UInt8] = {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        let chunks = [
            "retry: 2000\n\n", ": ping\n\n", "event: hello\ndata: {\"a\":1}\n", "\n",
            "event: show\r\ndata: é\ndata: b\n\n",
        ]
        return chunks.reduce(into: Array(head.utf8)) {
            $0 += Array("\(String($1.utf8.count, radix: 16));x=y\r\n\($1)\r\n".utf8)
        }
    }()

    @Test(arguments: [1, 2, 3, 7, 1000])
    func `events split at any byte are equal`(size: Int) throws {
        var reader = EventReader()
        var events: [EventReader.Event] = []
        var rest = Self.answer[...]
        while !rest.isEmpty {
            events += try reader.read(rest.prefix(size))
            rest = rest.dropFirst(size)
        }
        #expect(events.map { "\($0.name) \($0.data)" } == ["hello {\"a\":1}", "show é\nb"])
    }

    @Test(arguments: [
        "HTTP/1.1 404 Not Found\r\n\r\n", "SSH-2.0\r\n\r\n\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
    ])
    func `an invalid response is an error`(answer: String) {
        var reader = EventReader()
        #expect(throws: EventReader.Malformed.self) { try reader.read(Array(answer.utf8)) }
    }

    @Test func `an endless response is limited`() throws {
        var reader = EventReader()
        let piece = [UInt8](repeating: 65, count: 1 << 16)
        #expect(throws: EventReader.Malformed.self) {
            for _ in 0..<64 { _ = try reader.read(piece) }
        }
    }
}
