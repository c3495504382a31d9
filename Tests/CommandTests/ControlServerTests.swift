import CommandSupport
import Foundation
import Glibc
import Support
import Testing

@Suite struct ControlServerTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// An open connection; -1 if the connection is refused.
    private static func dial(_ path: String) -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var limit = timeval(tv_sec: 5, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard isConnected == 0 else {
            close(descriptor)
            return -1
        }
        return descriptor
    }

    /// Runs `body` on a thread of its own and waits for at most 5 seconds.
    private static func aside<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result? {
        let (results, result) = AsyncStream.makeStream(of: Result.self)
        Thread.detachNewThread {
            result.yield(body())
            result.finish()
        }
        return await results.first { _ in true }
    }

    /// Sends `text`, closes the sending side, and reads until the server closes the connection.
    private static func say(_ text: String, at path: String) -> String? {
        let descriptor = dial(path)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard send(descriptor, text, text.utf8.count, Int32(MSG_NOSIGNAL)) == text.utf8.count,
            shutdown(descriptor, Int32(SHUT_WR)) == 0
        else { return nil }
        var said: [UInt8] = [], buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return count == 0 ? String(decoding: said, as: UTF8.self) : nil }
            said += buffer.prefix(count)
        }
    }

    /// `true` must not be accepted as 1 ml. `250.0`, as some programs write numbers, is valid.
    @Test(
        arguments: [
            (#""250""#, 250), ("250", 250), ("250.0", 250), ("2.5e2", 250), ("true", nil), ("[250]", nil),
            (#""8oz""#, nil), ("null", nil), ("250.5", nil),
        ] as [(String, Int?)])
    func `a control value is a string or a number`(json: String, ml: Int?) {
        let action = try? ControlMessages.action(line: Data(#"{"do":"sip","value":\#(json)}"#.utf8))
        #expect(action == ml.map { .sip(ml: $0) }, "\(json)")
    }

    /// A script's pipe closes its sending side before the reply arrives.
    @Test func `a client that closes its sending side receives every reply`() async throws {
        let path = folder.file("c")
        let server = try ControlServer(path: path) { _ in .refused("not now") }
        defer { server.stop() }
        for _ in 0..<50 {
            let said = await Self.aside { Self.say("{}\nrubbish\n", at: path) }
            #expect(said??.split(separator: "\n").count == 2, "\(said ?? "nothing")")
        }
    }

    /// Idle connections must not block other clients.
    @Test func `a silent client does not block others`() async throws {
        let path = folder.file("c")
        let server = try ControlServer(path: path) { _ in .refused("not now") }
        defer { server.stop() }
        let idle = await Self.aside { (0..<100).map { _ in Self.dial(path) } } ?? []
        defer { for descriptor in idle where descriptor >= 0 { close(descriptor) } }
        #expect(idle.count == 100 && !idle.contains(-1))
        for _ in 0..<3 {
            let said = await Self.aside { Self.say("{}\n", at: path) }
            #expect(said??.split(separator: "\n").count == 1, "\(said ?? "nothing")")
        }
    }
}
