package import Foundation
import TrackerCore

/// A private temporary directory, deleted with this value.
///
/// A killed process leaves its directory, which the next process deletes. A lock on a file in the directory shows that
/// its process is running.
package final class ScratchFolder: Sendable {
    package let path: String
    private let lock: Int32

    private static let prefix = "waterh-"
    private static let lockName = "lock"

    /// - Parameter store: the directory is next to this store, because the temporary directory might be in memory.
    ///   `nil` or a store in memory selects the temporary directory.
    /// - Throws: `Refusal` (`noScratch`) if no directory can be created.
    package init(besideStore store: String? = nil) throws {
        let parent =
            store.flatMap { $0 == ":memory:" ? nil : URL(fileURLWithPath: $0).deletingLastPathComponent().path }
            ?? FileManager.default.temporaryDirectory.path
        Self.removeAbandoned(in: parent)
        var name = Array("\(parent)/\(Self.prefix)XXXXXX".utf8CString)
        guard mkdtemp(&name) != nil else {
            throw Self.failure("directory")
        }
        path = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // Lock the file before its rename, so that no process sees it unlocked.
        let new = path + "/" + Self.lockName + ".new"
        lock = open(new, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if lock >= 0, flock(lock, LOCK_EX | LOCK_NB) == 0 { rename(new, path + "/" + Self.lockName) }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
        if lock >= 0 { close(lock) }
    }

    package func file(_ name: String) -> String { path + "/" + name }

    /// Creates a file in the directory.
    /// - Throws: `Refusal` (`noScratch`).
    package func create(_ name: String) throws -> FileHandle {
        let descriptor = open(file(name), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure("file") }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    private static func failure(_ kind: String) -> Refusal {
        Refusal(
            "noScratch", "Creating a temporary \(kind) failed: \(String(cString: strerror(errno))).",
            category: errno == ENOSPC ? .diskFull : .failed)
    }

    /// Deletes the directories of killed processes of this user.
    package static func removeAbandoned(in parent: String = FileManager.default.temporaryDirectory.path) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
        where name.hasPrefix(prefix) && name.utf8.count == prefix.utf8.count + 6 {
            var status = stat()
            let folder = parent + "/" + name
            guard lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid() else {
                continue
            }
            let lock = open(folder + "/" + lockName, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
            guard lock >= 0 else { continue }
            if flock(lock, LOCK_EX | LOCK_NB) == 0 { try? FileManager.default.removeItem(atPath: folder) }
            close(lock)
        }
    }
}
