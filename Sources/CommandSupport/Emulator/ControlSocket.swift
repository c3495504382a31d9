import Foundation

package enum ControlSocket {
    package struct Failure: Error, Sendable, CustomStringConvertible {
        /// Whether another emulator listens on the socket.
        package let isInUse: Bool
        package let description: String
    }

    /// The identity of a file.
    struct Mark: Equatable {
        let device: UInt64
        let file: UInt64

        /// Returns `nil` if the file does not exist.
        init?(_ path: String) {
            var status = stat()
            guard lstat(path, &status) == 0 else { return nil }
            (device, file) = (UInt64(status.st_dev), UInt64(status.st_ino))
        }
    }

    /// A listening, non-blocking socket at `path`, for its owner only (mode 0600).
    static func listen(_ path: String) throws(Failure) -> Int32 {
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { throw failure("cannot create a socket") }
        var status = stat()
        if lstat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFSOCK else {
                close(descriptor)
                throw Failure(isInUse: true, description: "\(path) exists and is not a socket")
            }
            // Only an abandoned socket gives ECONNREFUSED. Sockets of other kinds are not replaced.
            guard try probe(path) == ECONNREFUSED else {
                close(descriptor)
                throw Failure(
                    isInUse: true,
                    description:
                        """
                        another process listens at \(path): an emulator, or a socket of another kind such as a \
                        bottle's link
                        """
                )
            }
            unlink(path)
        }
        do {
            let before = umask(0o177)
            defer { umask(before) }
            try withAddress(path) { (address, length) throws(Failure) in
                guard bind(descriptor, address, length) == 0, Glibc.listen(descriptor, 8) == 0 else {
                    throw failure("cannot listen at \(path)")
                }
            }
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// The result of connecting to `path`: 0 if a process listens, otherwise errno.
    private static func probe(_ path: String) throws(Failure) -> Int32 {
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { throw failure("cannot create a socket") }
        defer { close(descriptor) }
        var answer: Int32 = 0
        try withAddress(path) { (address, length) throws(Failure) in
            answer = connect(descriptor, address, length) == 0 ? 0 : errno
        }
        return answer
    }

    static func dial(_ path: String) throws(Failure) -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw failure("cannot create a socket") }
        do {
            try withAddress(path) { (address, length) throws(Failure) in
                guard connect(descriptor, address, length) == 0 else { throw failure("no process listens at \(path)") }
            }
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Sends one line and returns the response line, within `limit` seconds.
    package static func ask(_ path: String, _ line: String, limit: Int = 5) throws(Failure) -> Data {
        let descriptor = try dial(path)
        defer { close(descriptor) }
        var time = timeval(tv_sec: limit, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        let bytes = Array((line + "\n").utf8)
        guard send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw failure("cannot send to \(path)")
        }
        var answer = Data()
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !answer.contains(UInt8(ascii: "\n")), answer.count < 1 << 20 {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw Failure(isInUse: false, description: "\(path) did not respond in \(limit) s") }
            answer.append(contentsOf: buffer.prefix(count))
        }
        return answer.prefix { $0 != UInt8(ascii: "\n") }
    }

    private static func withAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) throws(Failure) -> Void
    ) throws(Failure) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        guard path.utf8.count < capacity else {
            throw Failure(
                isInUse: false, description: "\(path) is too long for a socket (at most \(capacity - 1) bytes)")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                Result { () throws(Failure) in try body(pointer, socklen_t(MemoryLayout<sockaddr_un>.size)) }
            }
        }
        try result.get()
    }

    private static func failure(_ what: String) -> Failure {
        let number = errno
        return Failure(isInUse: number == EADDRINUSE, description: "\(what): \(String(cString: strerror(number)))")
    }
}
