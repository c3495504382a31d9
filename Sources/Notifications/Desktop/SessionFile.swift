import Foundation

/// A small file in `XDG_RUNTIME_DIR`, shared by our processes. Writes are atomic and locked. Only the user can read it.
struct SessionFile: Sendable {
    private static let limit = 1 << 16
    /// The number of attempts to lock the file, and the pause between them in microseconds.
    private static let (attempts, pause) = (100, UInt32(2000))
    let path: String

    /// `nil` if the file is missing or unreadable.
    func read() -> Data? {
        guard let handle = try? FileHandle(forReadingFrom: URL(fileURLWithPath: path)) else { return nil }
        defer { try? handle.close() }
        return (try? handle.read(upToCount: Self.limit)).flatMap { $0 }
    }

    func write(_ data: Data) {
        let new = "\(path).\(getpid())"
        unlink(new)
        let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return }
        let isWhole = data.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) } == data.count
        close(descriptor)
        if !isWhole || rename(new, path) != 0 { unlink(new) }
    }

    /// Runs a closure under the lock; without the lock after all attempts, because its owner might be stopped.
    func locked<Result>(_ body: () -> Result) -> Result {
        let descriptor = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        defer { if descriptor >= 0 { close(descriptor) } }
        if descriptor >= 0 {
            for _ in 0..<Self.attempts where flock(descriptor, LOCK_EX | LOCK_NB) != 0 { usleep(Self.pause) }
        }
        return body()
    }
}
