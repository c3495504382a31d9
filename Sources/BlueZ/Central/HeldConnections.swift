import Glibc

/// The connections to bottles that this user's gateways have established. Only those may be ended.
///
/// bluetoothd keeps a connection when the program that requested it exits, and does not report that program. So each
/// connection has a locked file. The kernel releases the lock when the process exits. A file without a lock marks an
/// abandoned connection.
package struct HeldConnections: Sendable {
    private let folder: String?
    private var files: [String: Int32] = [:]

    /// - Parameter folder: a writable directory for all programs of this user; `nil` disables the files.
    package init(folder: String?) {
        self.folder = folder
    }

    mutating func hold(_ peer: String) {
        guard files[peer] == nil, let path = path(peer), let descriptor = Self.open(path, O_CREAT) else { return }
        if Self.lock(descriptor) { files[peer] = descriptor } else { close(descriptor) }
    }

    mutating func release(_ peer: String) {
        guard let path = path(peer), isHeldByThisUser(peer) else { return }
        unlink(path)
        if let descriptor = files.removeValue(forKey: peer) { close(descriptor) }
    }

    /// Whether a gateway of this user holds the connection: this process, or one that has exited.
    func isHeldByThisUser(_ peer: String) -> Bool {
        if files[peer] != nil { return true }
        guard let path = path(peer), let descriptor = Self.open(path, 0) else { return false }
        defer { close(descriptor) }
        return Self.lock(descriptor)
    }

    private static func lock(_ descriptor: Int32) -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

    /// Opens a regular file of this user. In a shared directory, another user might have created the name.
    private static func open(_ path: String, _ flags: Int32) -> Int32? {
        let descriptor = Glibc.open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0o600)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        if fstat(descriptor, &status) == 0, status.st_uid == geteuid(), status.st_mode & S_IFMT == S_IFREG {
            return descriptor
        }
        close(descriptor)
        return nil
    }

    /// The file's path; `nil` for a text that is not an address.
    private func path(_ peer: String) -> String? {
        guard let folder, !peer.contains("/"), peer.utf8.count <= 64 else { return nil }
        return "\(folder)/waterh-\(geteuid())-connection-\(peer.filter { $0 != ":" })"
    }
}
