import Foundation
import Synchronization

/// The database file and its log (`-wal`) as a store opened them. SQLite continues to write to a file that was removed
/// or replaced, and those writes are lost when the last process closes it.
final class StorePresence: Sendable {
    private let file: FileIdentity?
    private let log: Mutex<FileIdentity?>

    init(_ path: String) {
        file = FileIdentity(path)
        log = Mutex(Self.log(path))
    }

    /// Checks that both files are still at their paths: before a read or a write, and after a commit.
    /// - Throws: `StoreError` with the code `storeWasRemoved`.
    func check(_ path: String) throws {
        guard let file else { return }
        let isLogThere = log.withLock { log in
            let found = Self.log(path)
            log = log ?? found
            return log == found
        }
        guard FileIdentity(path) == file, isLogThere else {
            throw StoreError(.cannotOpen, "Store file missing or replaced", at: path, code: "storeWasRemoved")
        }
    }

    /// Whether another file has the path, and the log is still beside it.
    func isReplaced(_ path: String) -> Bool {
        guard let file, let found = FileIdentity(path), found != file else { return false }
        return log.withLock { $0 != nil && $0 == Self.log(path) }
    }

    /// Removes the log from beside a file that it does not belong to.
    func removeLog(_ path: String) {
        for name in ["-wal", "-shm"] { unlink(StoreFile.target(of: path) + name) }
    }

    private static func log(_ path: String) -> FileIdentity? { FileIdentity(StoreFile.target(of: path) + "-wal") }
}
