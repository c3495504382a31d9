import Foundation

/// A small file of the session's runtime folder that our programs share: it is whole or not there, one of them changes
/// it at a time, and it is of nobody else's business.
struct SessionFile: Sendable {
    private static let limit = 1 << 16
    /// So often the file is asked for while another program has it, and so long in between, microseconds.
    private static let (attempts, pause) = (100, UInt32(2000))
    let path: String

    /// `nil` where there is no file, or one that cannot be read.
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

    /// One that is stopped in the middle holds nobody up for long.
    func locked<Result>(_ body: () -> Result) -> Result {
        let descriptor = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        defer { if descriptor >= 0 { close(descriptor) } }
        if descriptor >= 0 {
            for _ in 0..<Self.attempts where flock(descriptor, LOCK_EX | LOCK_NB) != 0 { usleep(Self.pause) }
        }
        return body()
    }
}
