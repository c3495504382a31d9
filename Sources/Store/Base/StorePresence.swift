import Foundation
import Synchronization

/// Which file a store was opened as. A file that is removed or replaced while it is open goes on taking writes, and all of them are gone
/// when its last user closes it.
final class StorePresence: Sendable {
    private struct Identity: Equatable {
        var device: UInt64
        var inode: UInt64

        /// `nil`: there is no such file. What cannot be told is taken for no answer.
        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
        }
    }

    private let file: Identity?
    /// SQLite's log, as it was first seen: it stays as long as anybody has the database open.
    private let log = Mutex<Identity?>(nil)

    init(_ path: String) { file = Identity(path) }

    /// Before a write: it is better refused than kept where nobody will find it, and done once more when the file is back.
    /// - Throws: `StoreError`.
    func checkFile(_ path: String) throws {
        guard let file, Identity(path) != file else { return }
        throw StoreError(.cannotOpen, "The store's file was removed or replaced while it was open; nothing was written", at: path, code: "storeWasRemoved")
    }

    /// To be called after a commit.
    /// - Throws: `StoreError`, where what was just written is in a file that nobody will find.
    func check(_ path: String) throws {
        guard let file else { return }
        let isThere = Identity(path) == file
        let found = Identity(StoreFile.target(of: path) + "-wal")
        let isLogThere = found != nil && log.withLock { log in
            log = log ?? found
            return log == found
        }
        guard !isThere || !isLogThere else { return }
        throw StoreError(
            .cannotOpen, isThere ? "The store's log (-wal) was removed while it was open" : "The store's file was removed or replaced while it was open",
            at: path, code: "storeWasRemoved")
    }
}
