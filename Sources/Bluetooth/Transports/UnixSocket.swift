package import Glibc

/// A Unix socket in the file system, for `unix:` and `stream:` links.
package struct UnixSocket: Sendable {
    package enum Kind: String, Sendable {
        /// SEQPACKET: one message is one ATT PDU.
        case unix
        /// A stream with each PDU in an L2CAP basic frame (`BasicFrames`), for languages without SEQPACKET.
        case stream
    }

    package let path: String
    package let kind: Kind

    /// The maximum length of the path in bytes (`sun_path`).
    package static let longestPath = 107

    package init(path: String, kind: Kind = .unix) throws(LinkError) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw LinkError(.notFound, "the socket path is empty")
        }
        guard path.utf8.count <= Self.longestPath else {
            throw LinkError(
                .notFound,
                """
                the socket path '\(path)' has \(path.utf8.count) bytes; the system takes \(Self.longestPath): use \
                a shorter one
                """
            )
        }
        self.path = path
        self.kind = kind
    }

    func open() throws(LinkError) -> Int32 {
        let type =
            Int32((kind == .stream ? SOCK_STREAM : SOCK_SEQPACKET).rawValue) | Int32(SOCK_CLOEXEC.rawValue)
            | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { throw Self.system(.system, "cannot create a socket", errno) }
        return descriptor
    }

    package func withAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { buffer in
            // The remaining bytes are zero and terminate the path.
            for (index, byte) in path.utf8.enumerated() where index < Self.longestPath { buffer[index] = byte }
        }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    var file: stat? {
        var information = stat()
        return lstat(path, &information) == 0 ? information : nil
    }

    static func isSocket(_ file: stat) -> Bool { file.st_mode & S_IFMT == S_IFSOCK }

    static func system(_ code: LinkError.Code, _ sentence: String, _ error: Int32, isTransient: Bool = false)
        -> LinkError
    {
        LinkError(code, sentence, cause: String(cString: strerror(error)), isTransient: isTransient)
    }
}

extension UnixSocket: SocketDialer {
    package var name: String { "\(kind):\(path)" }
    package var hasRadio: Bool { false }

    package func peer() throws(LinkError) -> Advertisement {
        guard let file else {
            throw LinkError(.notFound, "socket not found: \(path)", isTransient: true)
        }
        guard Self.isSocket(file) else { throw LinkError(.notFound, "not a socket: \(path)") }
        return Advertisement(peer: PeerID(path))
    }

    package func dial(_ peer: PeerID) throws(LinkError) -> Int32? {
        let descriptor = try open()
        let error = withAddress { Glibc.connect(descriptor, $0, $1) == 0 ? 0 : errno }
        if error == 0 || error == EINPROGRESS { return descriptor }
        Glibc.close(descriptor)
        // The listen queue is full.
        if error == EAGAIN { return nil }
        throw explain(error)
    }

    package func explain(_ error: Int32) -> LinkError {
        switch error {
        case ENOENT:
            Self.system(.notFound, "socket not found: \(path)", error, isTransient: true)
        case ECONNREFUSED:
            Self.system(
                .connectFailed, "no process listens on \(path): start the peripheral again", error,
                isTransient: true)
        case EACCES, EPERM: Self.system(.permissionDenied, "no permission to use the socket \(path)", error)
        case EPROTOTYPE, ENOTSOCK:
            Self.system(
                .connectFailed,
                """
                \(path) is not a \(kind == .unix ? "SEQPACKET" : "stream") socket; another program than a peripheral \
                of this link listens there
                """,
                error)
        default: Self.system(.connectFailed, "cannot connect to \(path)", error, isTransient: true)
        }
    }
}

extension UnixSocket: SocketListener {
    package var address: BluetoothAddress? { nil }

    package func listen(_ application: GATTApplication) throws(LinkError) -> ListeningSocket { try listen() }

    /// Binds and listens. Replaces the socket file of a process that has ended; throws if another process listens.
    package func listen() throws(LinkError) -> ListeningSocket {
        try clear()
        let descriptor = try open()
        let error = withAddress { bind(descriptor, $0, $1) == 0 && Glibc.listen(descriptor, 8) == 0 ? 0 : errno }
        guard error == 0 else {
            Glibc.close(descriptor)
            switch error {
            case EADDRINUSE: throw Self.system(.inProgress, "another process has just created \(path)", error)
            case ENOENT, ENOTDIR:
                throw Self.system(.notFound, "the directory of the socket \(path) does not exist", error)
            case EACCES, EPERM, EROFS:
                throw Self.system(.permissionDenied, "no permission to create the socket \(path)", error)
            default: throw Self.system(.system, "cannot create the socket \(path)", error)
            }
        }
        let created = file
        return ListeningSocket(descriptor: descriptor) {
            // Another process can have replaced the file.
            guard let created, let file, (file.st_dev, file.st_ino) == (created.st_dev, created.st_ino) else { return }
            unlink(path)
        }
    }

    /// Removes the socket file of a process that has ended. Throws if a process still listens.
    private func clear() throws(LinkError) {
        guard let file else { return }
        guard Self.isSocket(file) else {
            throw LinkError(.inProgress, "\(path) exists and is not a socket: remove it or use another path")
        }
        let descriptor = try open()
        let error = withAddress { Glibc.connect(descriptor, $0, $1) == 0 ? 0 : errno }
        Glibc.close(descriptor)
        switch error {
        case ECONNREFUSED:
            guard unlink(path) == 0 || errno == ENOENT else {
                throw Self.system(.permissionDenied, "cannot remove the stale socket \(path)", errno)
            }
        case ENOENT: break
        case EACCES, EPERM: throw Self.system(.permissionDenied, "the socket \(path) belongs to another user", error)
        default: throw LinkError(.inProgress, "another process listens on \(path): stop it or use another path")
        }
    }

    package func central(_ descriptor: Int32, number: Int) -> CentralID { CentralID("\(number)") }

    package func advertise(_ visible: Bool) {}
}
