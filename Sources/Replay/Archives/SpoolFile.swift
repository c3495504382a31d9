import Glibc

/// A file without a name on disk, which is gone with this object, however the program ends.
final class SpoolFile {
    let descriptor: CInt
    /// By which this process can open it.
    var path: String { "/proc/self/fd/\(descriptor)" }
    /// Bytes written so far.
    private(set) var size = 0
    private let original: String
    private let folder: String

    /// - Parameter original: what its bytes come from, for messages.
    init(for original: String) throws(CaptureFileError) {
        self.original = original
        folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        descriptor = open(folder, O_RDWR | O_CLOEXEC | __O_TMPFILE, 0o600)
        guard descriptor >= 0 else { throw Self.failure(original, folder) }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    func write(_ bytes: UnsafeRawBufferPointer) throws(CaptureFileError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.failure(original, folder) }
            rest = rest.dropFirst(count)
        }
        size += bytes.count
    }

    func write(_ bytes: [UInt8]) throws(CaptureFileError) {
        // A closure would lose the error's type.
        var failure: CaptureFileError?
        bytes.withUnsafeBytes { raw in
            do throws(CaptureFileError) { try write(raw) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    func rewind() { lseek(descriptor, 0, SEEK_SET) }

    private static func failure(_ original: String, _ folder: String) -> CaptureFileError {
        CaptureFileError(
            path: original, sentence: "cannot be unpacked to \(folder): \(String(cString: strerror(errno)))")
    }
}
