import Glibc

/// Which of this machine's connections to bottles are ours: what one did not begin one does not end.
///
/// bluetoothd keeps a connection when the program that asked for it dies, and does not say who asked. So each
/// connection of ours has a file with a lock on it, as long as it lasts. The kernel lifts the lock of a process that
/// dies, however it dies: a file without a lock is a connection that a program of ours left behind.
package struct HeldConnections: Sendable {
    private let folder: String?
    /// Peer -> descriptor of its locked file.
    private var files: [String: Int32] = [:]

    /// - Parameter folder: one for all programs of this user, writable; `nil`: nothing is remembered.
    package init(folder: String?) {
        self.folder = folder
    }

    /// The connection to that peer is ours from now on.
    mutating func hold(_ peer: String) {
        guard files[peer] == nil, let path = path(peer), let descriptor = Self.open(path, O_CREAT) else { return }
        if Self.lock(descriptor) { files[peer] = descriptor } else { close(descriptor) }
    }

    /// It has ended.
    mutating func release(_ peer: String) {
        guard let path = path(peer), isOurs(peer) else { return }
        unlink(path)
        if let descriptor = files.removeValue(forKey: peer) { close(descriptor) }
    }

    /// Whether we hold it, or a program of ours did that is no more.
    func isOurs(_ peer: String) -> Bool {
        if files[peer] != nil { return true }
        guard let path = path(peer), let descriptor = Self.open(path, 0) else { return false }
        defer { close(descriptor) }
        return Self.lock(descriptor)
    }

    private static func lock(_ descriptor: Int32) -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

    /// A file of this user's own: in a folder for everybody, somebody else may have made one of that name.
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

    /// An address has no slashes; whatever else comes is not kept.
    private func path(_ peer: String) -> String? {
        guard let folder, !peer.contains("/"), peer.utf8.count <= 64 else { return nil }
        return "\(folder)/waterh-\(geteuid())-connection-\(peer.filter { $0 != ":" })"
    }
}
