import Foundation
import Store

/// A small file in `XDG_RUNTIME_DIR`, shared by this project's processes. Writes are atomic and locked. Mode 0600.
struct RuntimeFile: Sendable {
    private static let limit = 1 << 16
    /// The number of attempts to lock the file, and the pause between them in microseconds.
    private static let (attempts, pause) = (100, UInt32(2000))
    let path: String

    /// The content; `nil` if the file is missing or unreadable.
    func read() -> Data? { try? SmallFile.read(path, limit: Self.limit) }

    func write(_ data: Data) {
        let temporaryPath = "\(path).\(getpid())"
        unlink(temporaryPath)
        let descriptor = open(temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return }
        let isWhole = data.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) } == data.count
        close(descriptor)
        if !isWhole || rename(temporaryPath, path) != 0 { unlink(temporaryPath) }
    }

    /// Runs a closure while holding the lock; after all attempts without it, because the lock's owner might be stopped.
    func locked<Result>(_ body: () -> Result) -> Result {
        let descriptor = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        defer { if descriptor >= 0 { close(descriptor) } }
        if descriptor >= 0 {
            for _ in 0..<Self.attempts where flock(descriptor, LOCK_EX | LOCK_NB) != 0 { usleep(Self.pause) }
        }
        return body()
    }
}
