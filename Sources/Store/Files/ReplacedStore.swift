import Foundation
import GRDB
import TrackerCore

/// What a restore has replaced: a file beside the store, and a backup itself.
package enum ReplacedStore {
    /// A name that nobody has yet: `STORE-replaced-20261124T172437Z`, `STORE` being the store's path; then with `-2`,
    /// `-3` …
    /// - Returns: `nil` for a store in memory.
    package static func newFile(beside store: String, at now: Instant) -> String? {
        guard store != ":memory:" else { return nil }
        let wall = Zone.utc.wall(at: now).description.filter { $0 != "-" && $0 != ":" }
        let name = store + ending + wall + "Z"
        var (file, number) = (name, 1)
        while access(file, F_OK) == 0 || access(file + unfinished, F_OK) == 0 {
            number += 1
            file = "\(name)-\(number)"
        }
        return file
    }

    private static let ending = "-replaced-"

    /// Another restore has taken that name meanwhile: nothing was replaced, and another name may be tried.
    package struct Taken: Error, CustomStringConvertible {
        let file: String
        /// Which one.
        package var description: String { "\(file) was made by another restore meanwhile." }
    }

    /// Writes everything that the store has into the file, for its owner alone, and brings it to the disk. It has
    /// another name until it is whole.
    /// - Parameter file: must not exist. Where this fails it does not exist afterwards either.
    static func write(_ file: String, _ db: Database) throws {
        removeUnfinished(beside: file)
        let new = file + unfinished
        let descriptor = open(new, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST { throw Taken(file: file) }
            throw trouble(file)
        }
        defer { close(descriptor) }
        // Says to others that its writer lives.
        flock(descriptor, LOCK_EX | LOCK_NB)
        do {
            try TrackerStore.sentences(at: file) { try db.execute(sql: "VACUUM main INTO ?", arguments: [new]) }
            guard fsync(descriptor) == 0, try rename(new, to: file) else { throw trouble(file) }
        } catch {
            unlink(new)
            throw error
        }
    }

    /// Never over a file that is there, which may be what another restore has kept.
    private static func rename(_ new: String, to file: String) throws -> Bool {
        if link(new, file) == 0 { return unlink(new) == 0 }
        if errno == EEXIST { throw Taken(file: file) }
        // A file system may have no second names for a file.
        guard errno == EPERM || errno == ENOTSUP, access(file, F_OK) != 0 else { return false }
        return Foundation.rename(new, file) == 0
    }

    private static let unfinished = ".new"

    /// What a restore left that was killed. One that lives holds its file.
    private static func removeUnfinished(beside file: String) {
        guard let end = file.range(of: ending, options: .backwards) else { return }
        let store = URL(fileURLWithPath: String(file[..<end.lowerBound]))
        let folder = store.deletingLastPathComponent().path
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        where name.hasSuffix(unfinished) && isOurs(name, of: store.lastPathComponent) {
            let descriptor = open(folder + "/" + name, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { unlink(folder + "/" + name) }
        }
        // SQLite's own files, of one that is gone.
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        where isOurs(name, of: store.lastPathComponent) {
            for more in ["-journal", "-wal", "-shm"]
            where name.hasSuffix(unfinished + more) && access(folder + "/" + name.dropLast(more.count), F_OK) != 0 {
                unlink(folder + "/" + name)
            }
        }
    }

    private static func trouble(_ file: String) -> StoreError {
        StoreError(.inputOutput, "What is to be replaced cannot be kept: \(String(cString: strerror(errno)))", at: file)
    }

    /// Removes what restores have kept, and what the store was before it was brought up to date (purge).
    static func remove(beside store: String) throws {
        let url = URL(fileURLWithPath: store)
        let folder = url.deletingLastPathComponent().path
        guard store != ":memory:", let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
            return
        }
        for name in names
        where isOurs(name, of: url.lastPathComponent) || OlderStore.isOurs(name, of: url.lastPathComponent) {
            try FileManager.default.removeItem(atPath: folder + "/" + name)
        }
    }

    /// Whether a restore has made this file for that store, or is about to.
    static func isOurs(_ name: String, of store: String) -> Bool {
        name.hasPrefix(store + ending)
            && name.dropFirst((store + ending).count).wholeMatch(
                of: /\d{8}T\d{6}Z(?:-\d+)?(?:\.new)?(?:-wal|-shm|-journal)?/) != nil
    }
}
