import Glibc

/// The host's end of a `unix:` link: one PDU per message, with a timeout of 10 s each.
final class RawSocket: @unchecked Sendable {
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0)
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < 108 else { throw Host.Failure(description: "too long: \(path)") }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw Host.Failure(description: "nobody is at \(path)") }
    }

    deinit { close(descriptor) }

    func send(_ pdu: [UInt8]) throws {
        guard Glibc.send(descriptor, pdu, pdu.count, Int32(MSG_NOSIGNAL)) == pdu.count else {
            throw Host.Failure(description: "the other end has gone")
        }
    }

    func receive() throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { throw Host.Failure(description: "nothing comes any more") }
        return Array(buffer.prefix(count))
    }
}
