import Glibc

/// A capture that can be read more than once: a file as it is, and a copy of everything else (standard input, a named
/// pipe).
///
/// The copy has no name on disk and is gone with this object, however the program ends.
package final class SpooledCapture {
    /// What to read instead of the original.
    package let path: String
    private let copy: CInt

    /// - Parameter original: as the user wrote it; `-` is standard input. What cannot be opened stays as it is: reading
    ///   it tells why.
    package init(_ original: String) throws(CaptureFileError) {
        guard original == "-" || CaptureFile.isPipe(original) else {
            (path, copy) = (original, -1)
            return
        }
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        let descriptor = open(folder, O_RDWR | O_CLOEXEC | __O_TMPFILE, 0o600)
        guard descriptor >= 0 else {
            throw CaptureFileError(
                path: original,
                sentence: "cannot be kept in \(folder) for a second reading: \(String(cString: strerror(errno)))")
        }
        copy = descriptor
        path = "/proc/self/fd/\(descriptor)"
        do {
            try CaptureFile.forEachPiece(of: original) { piece in
                var rest = piece[...]
                while !rest.isEmpty {
                    let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else {
                        throw CaptureFileError(
                            path: original,
                            sentence:
                                "cannot be kept in \(folder) for a second reading: \(String(cString: strerror(errno)))")
                    }
                    rest = rest.dropFirst(count)
                }
            }
        } catch let error as CaptureFileError {
            throw error
        } catch {
            throw CaptureFileError(path: original, sentence: "\(error)")
        }
    }

    deinit { if copy >= 0 { close(copy) } }
}

extension CaptureFile {
    /// Whether it gives its bytes only once: neither a file nor a folder, and there.
    static func isPipe(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        return status.st_mode & S_IFMT != S_IFREG && status.st_mode & S_IFMT != S_IFDIR
    }

    /// Whether reading it again gives the same bytes again.
    static func canBeReadAgain(_ path: String) -> Bool {
        path != "-" && !isPipe(path)
    }
}
