import Foundation
import Synchronization

/// Which file a store was opened as. A file that is removed or replaced while it is open goes on taking writes, and all
/// of them are gone when its last user closes it.
final class StorePresence: Sendable {
    private let file: FileIdentity?
    /// SQLite's log, as it was first seen: it stays as long as anybody has the database open.
    private let log = Mutex<FileIdentity?>(nil)

    init(_ path: String) {
        file = FileIdentity(path)
        let found = FileIdentity(StoreFile.target(of: path) + "-wal")
        log.withLock { $0 = found }
    }

    /// The log was taken from beside the file that lies there now: whoever opened this one has to open it anew.
    private let isOver = Mutex(false)

    /// Whether the file that was opened is the one that lies there now.
    func isThere(_ path: String) -> Bool { file.map { FileIdentity(path) == $0 } ?? true && !isOver.withLock { $0 } }

    /// Takes away the log, with nothing in it any more, and what belongs to it, where another file lies beside it: that
    /// one would take them for its own.
    func giveUp(_ path: String) {
        isOver.withLock { $0 = true }
        let beside = StoreFile.target(of: path)
        guard let known = log.withLock({ $0 }), FileIdentity(beside + "-wal") == known else { return }
        for name in ["-wal", "-shm"] { unlink(beside + name) }
    }

    /// Before a read or a write: what is read is nobody's day any more, and what is written is better refused than kept
    /// where nobody will find it.
    /// - Throws: `StoreError`.
    func checkFile(_ path: String, whichIsTold consequence: String) throws {
        guard !isThere(path) else { return }
        throw StoreError(
            .cannotOpen, "The store's file was removed or replaced while it was open\(consequence)", at: path,
            code: "storeWasRemoved")
    }

    /// To be called after a commit.
    /// - Throws: `StoreError`, where what was just written is in a file that nobody will find.
    func check(_ path: String) throws {
        guard file != nil else { return }
        let isThere = isThere(path)
        let found = FileIdentity(StoreFile.target(of: path) + "-wal")
        let isLogThere =
            found != nil
            && log.withLock { log in
                log = log ?? found
                return log == found
            }
        guard !isThere || !isLogThere else { return }
        throw StoreError(
            .cannotOpen,
            isThere
                ? "The store's log (-wal) was removed while it was open"
                : "The store's file was removed or replaced while it was open",
            at: path, code: "storeWasRemoved")
    }
}
