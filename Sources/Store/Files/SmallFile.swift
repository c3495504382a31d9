package import Foundation
import TrackerCore

/// Reads a small file that the user named, for example with a password. Rejects files that are not regular: a FIFO
/// would block, and a device has no end.
package enum SmallFile {
    package struct Failure: Error, Hashable, Sendable {
        /// The description, to be written after the file's name, for example "is a directory".
        package var reason: String
        package var isAbsence = false
    }

    /// Reads at most `limit` bytes. Request one byte more than allowed to detect a file that is too large.
    /// - Parameter flags: more flags of open(2).
    package static func read(_ path: String, limit: Int, flags: Int32 = 0) throws(Failure) -> Data {
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | flags)
        // open(2) fails for a socket.
        guard descriptor >= 0 else {
            throw kind(of: path)
                ?? Failure(reason: "cannot be read: \(String(cString: strerror(errno)))", isAbsence: errno == ENOENT)
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw Failure(reason: "cannot be read: \(String(cString: strerror(errno)))")
        }
        if let failure = kind(status.st_mode) { throw failure }
        do {
            return try handle.read(upToCount: limit) ?? Data()
        } catch {
            throw Failure(reason: "cannot be read: \(FileErrorText.text(error))")
        }
    }

    /// The secret in the first line of a file.
    /// - Parameters:
    ///   - setting: the setting that names the file.
    ///   - kind: the kind of secret for messages, such as `token`.
    ///   - accepts: whether a text is a secret of this kind.
    ///   - failure: creates the error from its sentence.
    package static func secret(
        _ path: String, setting: String, kind: String, accepts: (String) -> Bool = Settings.isToken,
        failure: (String) -> any Error
    ) throws -> String {
        let data: Data
        do { data = try read(path, limit: 8192) } catch {
            throw failure("The file \(path) (\(setting)) \(error.reason).")
        }
        let line = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline).first ?? ""
        let secret = line.trimmingCharacters(in: .whitespaces)
        // U+FFFD replaces bytes that are not UTF-8.
        guard accepts(secret), !secret.contains("\u{FFFD}") else {
            throw failure("The first line of \(path) (\(setting)) is not a valid \(kind).")
        }
        return secret
    }

    /// The reason why the path is not a regular file; `nil` if it is one or does not exist.
    package static func kind(of path: String) -> Failure? {
        var status = stat()
        let savedErrno = errno
        defer { errno = savedErrno }
        return stat(path, &status) == 0 ? kind(status.st_mode) : nil
    }

    private static func kind(_ mode: mode_t) -> Failure? {
        switch mode & S_IFMT {
        case S_IFREG: nil
        case S_IFDIR: Failure(reason: "is a directory")
        case S_IFIFO: Failure(reason: "is a pipe, which might never end")
        case S_IFSOCK: Failure(reason: "is a socket")
        default: Failure(reason: "is a device")
        }
    }
}
