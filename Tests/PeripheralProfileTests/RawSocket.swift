import Bluetooth
import Glibc

/// The host's end of a `unix:` link: one PDU per message, with a timeout of 10 s each.
final class RawSocket: @unchecked Sendable {
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0)
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let result = try UnixSocket(path: path).withAddress { connect(descriptor, $0, $1) }
        guard result == 0 else { throw Host.Failure(description: "nothing listens at \(path)") }
    }

    deinit { close(descriptor) }

    func send(_ pdu: [UInt8]) throws {
        guard Glibc.send(descriptor, pdu, pdu.count, Int32(MSG_NOSIGNAL)) == pdu.count else {
            throw Host.Failure(description: "the other end has disconnected")
        }
    }

    func receive() throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { throw Host.Failure(description: "no PDU arrives") }
        return Array(buffer.prefix(count))
    }
}
