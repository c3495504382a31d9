import Foundation

/// A lock file that one process holds until it ends.
package final class ProcessLock: Sendable {
    private let descriptor: Int32

    package let isOurs: Bool

    /// - Throws: if the lock file cannot be used.
    package init(_ file: String) throws {
        descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw POSIXError(POSIXError.Code(rawValue: errno) ?? .EIO) }
        isOurs = flock(descriptor, LOCK_EX | LOCK_NB) == 0
        guard isOurs || errno == EWOULDBLOCK else { throw POSIXError(POSIXError.Code(rawValue: errno) ?? .EIO) }
    }

    deinit { close(descriptor) }
}
