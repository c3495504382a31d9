import Foundation

/// A small file that somebody named: a password, a list of our own. Only an ordinary one is read: a pipe would be
/// waited for, and a device has no end.
package enum SmallFile {
    /// Why it is not read. `words` go behind the file's name: "is a folder".
    package struct Trouble: Error, Hashable, Sendable {
        /// What stands behind the file's name.
        package var words: String
        /// Nothing is there.
        package var isAbsence = false
    }

    /// What it holds, and no more than that of it: whoever asks for a byte beyond what fits sees that it is too large.
    /// - Parameter limit: bytes.
    package static func read(_ path: String, limit: Int) throws(Trouble) -> Data {
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        // A socket is not even opened.
        guard descriptor >= 0 else {
            throw kind(of: path)
                ?? Trouble(words: "cannot be read: \(String(cString: strerror(errno)))", isAbsence: errno == ENOENT)
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var found = stat()
        guard fstat(descriptor, &found) == 0 else {
            throw Trouble(words: "cannot be read: \(String(cString: strerror(errno)))")
        }
        if let trouble = kind(found.st_mode) { throw trouble }
        do {
            return try handle.read(upToCount: limit) ?? Data()
        } catch {
            throw Trouble(words: "cannot be read")
        }
    }

    /// What lies there, where it is no ordinary file.
    package static func kind(of path: String) -> Trouble? {
        var found = stat()
        let trouble = errno
        defer { errno = trouble }
        return stat(path, &found) == 0 ? kind(found.st_mode) : nil
    }

    private static func kind(_ mode: mode_t) -> Trouble? {
        switch mode & S_IFMT {
        case S_IFREG: nil
        case S_IFDIR: Trouble(words: "is a folder")
        case S_IFIFO: Trouble(words: "is a pipe, which may never end")
        case S_IFSOCK: Trouble(words: "is a socket")
        default: Trouble(words: "is a device")
        }
    }
}
