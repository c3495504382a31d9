import CommandSupport
import Foundation
import WebServer
import TrackerCore

/// Whether the place of the page is free, ours, or another program's.
enum PageCheck {
    private static let limit = Duration.seconds(2)

    /// What is found there; nothing where the page is off, or a socket.
    static func finding(_ file: Configuration, _ place: StorePlace) -> [Finding] {
        let settings = try? place.open(hostZone: nil, for: .looking).settings()
        let listen =
            Machine.variable("WATERH_LISTEN") ?? file.listen ?? settings?.service.httpListen
            ?? ServiceSettings().httpListen
        guard case .tcp(let host, let port)? = HTTPServer.Endpoint(listen), port != 0 else { return [] }
        guard let answer = ask(["0.0.0.0", "*"].contains(host) ? "127.0.0.1" : host == "::" ? "::1" : host, port) else {
            return []
        }
        guard answer.hasPrefix("HTTP/1.1 200"), answer.hasSuffix("\r\n\r\nok\n") else {
            return [
                Finding(
                    "page", .note, "another program listens at \(listen), where the service would show its page",
                    advice:
                        """
                        ss -ltnp says which. End it, or give the page another place: listen = \"127.0.0.1:8078\" \
                        in waterh.toml.
                        """
                )
            ]
        }
        return [Finding("page", .good, "it is shown at \(listen)")]
    }

    /// The answer's first kilobyte; empty from what says nothing. `nil` where nobody listens.
    private static func ask(_ host: String, _ port: Int) -> String? {
        var hints = addrinfo()
        (hints.ai_socktype, hints.ai_flags) = (Int32(SOCK_STREAM.rawValue), AI_NUMERICSERV)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, "\(port)", &hints, &found) == 0, let place = found?.pointee else { return nil }
        defer { freeaddrinfo(found) }
        let descriptor = socket(
            place.ai_family, place.ai_socktype | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let end = ContinuousClock.now.advanced(by: limit)
        guard connect(descriptor, place.ai_addr, place.ai_addrlen) == 0 || errno == EINPROGRESS,
            isReady(descriptor, POLLOUT, end)
        else { return nil }
        var (trouble, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
        guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &trouble, &size) == 0, trouble == 0 else { return nil }
        let request = Array("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
        guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else { return "" }
        var (bytes, piece) = ([UInt8](), [UInt8](repeating: 0, count: 1024))
        while bytes.count < 1024, isReady(descriptor, POLLIN, end) {
            let count = recv(descriptor, &piece, piece.count, 0)
            guard count > 0 else { break }
            bytes += piece[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isReady(_ descriptor: Int32, _ event: Int32, _ end: ContinuousClock.Instant) -> Bool {
        var place = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        let left = ContinuousClock.now.duration(to: end) / .milliseconds(1)
        return left > 0 && poll(&place, 1, Int32(left)) > 0
    }
}
