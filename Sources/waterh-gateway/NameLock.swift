import Foundation

/// A name that one program at a time may use, for as long as this lives: of this user's, in one session.
final class NameLock: Sendable {
    private let descriptor: Int32

    /// Whether it is ours; somebody else has it otherwise.
    let isOurs: Bool

    /// - Throws: why it cannot be seen who has it.
    init(_ file: String) throws {
        descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw POSIXError(POSIXError.Code(rawValue: errno) ?? .EIO) }
        isOurs = flock(descriptor, LOCK_EX | LOCK_NB) == 0
    }

    deinit { close(descriptor) }
}
