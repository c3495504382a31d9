import Foundation
import Glibc

/// The central's end of a `unix:` or `stream:` link, for PDUs that the product's client does not send.
package final class RawSocket: Sendable {
    package struct Failure: Error {
        package var reason: String
    }

    package let descriptor: Int32

    package init(_ path: String, isStream: Bool = false) throws {
        descriptor = socket(AF_UNIX, Int32((isStream ? SOCK_STREAM : SOCK_SEQPACKET).rawValue), 0)
        let result = withUnixAddress(path) { connect(descriptor, $0, $1) }
        guard result == 0 else { throw Failure(reason: "nothing listens at \(path)") }
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    /// Returns whether the link accepted the message.
    @discardableResult
    package func send(_ bytes: [UInt8]) -> Bool {
        Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    /// The next message; `nil` when the other end has disconnected or is silent for 10 s.
    package func receive() -> [UInt8]? { Self.receive(descriptor) }

    /// Waits for the next message on a thread of its own, because the link's consumer needs one of Swift's few threads.
    package func next() async -> [UInt8]? {
        // The thread does not keep the socket open.
        let descriptor = descriptor
        return await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: Self.receive(descriptor)) }
        }
    }

    private static func receive(_ descriptor: Int32) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count > 0 ? Array(buffer[..<count]) : nil
    }
}
