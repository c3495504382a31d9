import Dispatch
import Foundation
import Hummingbird
import NIOCore
import Support
import Synchronization
import Testing

@testable import WebServer

@Suite struct ConnectionTests {
    /// 2,600 sockets whose requests are answered before their bodies arrive must not block other clients.
    @Test(arguments: [
        ("POST /api/v1/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{", "404"),
        ("POST /api/v1/drinks HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 1000\r\n\r\n", "401"),
        ("POST /api/v1/drinks HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello", "401"),
        ("GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 7\r\n\r\n", "200"),
        (
            """
            POST /api/v1/drinks HTTP/1.1\r\nHost: localhost\r\nCookie: COOKIE\r\nContent-Type: \
            application/json\r\nContent-Length: 70000\r\n\r\n
            """, "413"
        ),
    ])
    func `a response before the end of the body closes the connection`(request: String, status: String) async throws {
        let server = try await TestServer()
        let client = try RawHTTP(port: server.port)
        client.send(request.replacing("COOKIE", with: server.cookie))
        // Until the other end closes, also while single bytes of the body keep arriving.
        let answer = try await client.read { _ in false }
        #expect(
            answer.hasPrefix("HTTP/1.1 \(status) ") && answer.lowercased().contains("\r\nconnection: close\r\n"),
            "\(answer)")
        // The rest is not parsed as a further request.
        #expect(answer.ranges(of: "HTTP/1.1 ").count == 1)
    }

    @Test func `a connection with complete requests stays open`() async throws {
        let server = try await TestServer()
        let client = try RawHTTP(port: server.port)
        for ml in 1...3 {
            client.forget()
            client.send(
                """
                POST /api/v1/drinks HTTP/1.1\r\nHost: localhost\r\n\(server.signedIn)Content-Type: \
                application/json\r\nContent-Length: 11\r\n\r\n{\"ml\": 10\(ml)}
                """)
            let answer = try await client.read { $0.contains("\"ml\":10\(ml)") }
            #expect(!answer.lowercased().contains("connection: close"))
        }
        client.forget()
        client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        #expect(try await client.read { _ in false }.hasSuffix("ok\n"))
    }

    /// With a low limit of open files, connections must not use all descriptors.
    @Test(arguments: [(64, 8), (256, 64), (1024, 448), (4096, 1984), (65_536, 2500), (0, 8)])
    func `the number of connections follows the limit of open files`(files: Int, connectionCount: Int) {
        #expect(HTTPListener.connectionCount(2500, files: files) == connectionCount)
    }

    @Test(arguments: [
        ("http://localhost:8077", "localhost:8077", true), ("http://localhost", "localhost:80", true),
        ("https://bench", "bench:443", true), ("http://evil.example", "localhost:8077", false),
        ("null", "localhost:8077", false), ("http://localhost:8078", "localhost:8077", false),
        ("ftp://localhost:8077", "localhost:8077", false),
    ])
    func `a request's origin must equal the address of the page`(origin: String, host: String, isSame: Bool) {
        #expect(Authenticator.isSame(origin: origin, as: host) == isSame)
    }

    @Test(
        arguments: [
            ("127.0.0.1", ""), ("::1", ""), ("::ffff:127.0.0.1", ""), ("192.168.1.5", "192.168.1.5"),
            ("::ffff:192.168.1.5", "192.168.1.5"), ("2001:db8:1:2:3:4:5:6", "20.1.d.b8.0.1.0.2"),
            ("2001:db8:1:2::9", "20.1.d.b8.0.1.0.2"), ("::2", "0.0.0.0.0.0.0.0"),
        ] as [(String, String)])
    func `a client is identified by its IPv4 address or IPv6 network`(address: String, name: String) throws {
        let request = Request(
            head: .init(method: .get, scheme: nil, authority: nil, path: "/"), body: .init(buffer: ByteBuffer()))
        #expect(Authenticator.rateLimitKey(of: request, try SocketAddress(ipAddress: address, port: 1)) == name)
    }
}

@Suite struct BlockingThreadsTests {
    @Test func `a request is answered while 31 others wait for the store`() async throws {
        let (isOver, begun, gaveUp) = (DispatchSemaphore(value: 0), Counter(), Counter())
        let waiting = (0..<BlockingThreads.count - 1).map { _ in
            Task(executorPreference: BlockingThreads.shared) {
                begun.add()
                if !waits(isOver) { gaveUp.add() }
            }
        }
        let answer = Task(executorPreference: BlockingThreads.shared) { begun.add() }
        _ = await eventually(within: 60) { begun.count == BlockingThreads.count }
        for _ in waiting { isOver.signal() }
        for task in waiting { await task.value }
        await answer.value
        #expect(
            begun.count == BlockingThreads.count && gaveUp.count == 0, "\(gaveUp.count) gave up before all had begun")
    }
}

private func waits(_ semaphore: DispatchSemaphore) -> Bool { semaphore.wait(timeout: .now() + 15) == .success }

private final class Counter: Sendable {
    private let sum = Mutex(0)

    var count: Int { sum.withLock { $0 } }

    func add() { sum.withLock { $0 += 1 } }
}
