internal import ArgumentParser
package import Bluetooth
package import Foundation

/// The path of a control socket, parsed from `unix:PATH`.
package struct ControlPath: ExpressibleByArgument, Sendable {
    package let path: String

    package init?(argument: String) {
        guard argument.hasPrefix("unix:"), argument.count > 5 else { return nil }
        path = String(argument.dropFirst(5))
    }
}

/// The client of `waterh-emulator control`.
package enum ControlSocket {
    /// Sends one line and returns the response line, within `limit` seconds.
    package static func request(_ path: String, _ line: String, limit: Int = 5) throws(LinkError) -> Data {
        let descriptor = try UnixSocket(path: path, kind: .stream).connect(limit: limit)
        defer { close(descriptor) }
        let bytes = Array((line + "\n").utf8)
        guard send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw LinkError(.disconnected, "cannot send to \(path)", cause: String(cString: strerror(errno)))
        }
        var answer = Data()
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !answer.contains(UInt8(ascii: "\n")), answer.count < 1 << 20 {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw LinkError(.timeout, "\(path) did not respond in \(limit) s") }
            answer.append(contentsOf: buffer.prefix(count))
        }
        return answer.prefix { $0 != UInt8(ascii: "\n") }
    }
}
