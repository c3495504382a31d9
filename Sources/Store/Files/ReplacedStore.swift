import Foundation
import GRDB
import TrackerCore

/// What a restore has replaced: a file beside the store, and a backup itself.
public enum ReplacedStore {
    /// A name that nobody has yet: `STORE-replaced-20261124T172437Z`, `STORE` being the store's path; then with `-2`, `-3` …
    /// - Returns: `nil` for a store in memory.
    public static func newFile(beside store: String, at now: Instant) -> String? {
        guard store != ":memory:" else { return nil }
        let wall = Zone.utc.wall(at: now).description.filter { $0 != "-" && $0 != ":" }
        let name = store + ending + wall + "Z"
        var (file, number) = (name, 1)
        while access(file, F_OK) == 0 {
            number += 1
            file = "\(name)-\(number)"
        }
        return file
    }

    private static let ending = "-replaced-"

    /// Writes everything that the store has into the file, for its owner alone, and brings it to the disk.
    /// - Parameter file: must not exist. Where this fails it does not exist afterwards either.
    static func write(_ file: String, _ db: Database) throws {
        let descriptor = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw trouble(file) }
        defer { close(descriptor) }
        do {
            try TrackerStore.sentences(at: file) { try db.execute(sql: "VACUUM main INTO ?", arguments: [file]) }
            guard fsync(descriptor) == 0 else { throw trouble(file) }
        } catch {
            unlink(file)
            throw error
        }
    }

    private static func trouble(_ file: String) -> StoreError {
        StoreError(.inputOutput, "What is to be replaced cannot be kept: \(String(cString: strerror(errno)))", at: file)
    }

    /// Removes what restores have kept, and what the store was before it was brought up to date (purge).
    static func remove(beside store: String) throws {
        let url = URL(fileURLWithPath: store)
        let folder = url.deletingLastPathComponent().path
        guard store != ":memory:", let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else { return }
        for name in names where isOurs(name, of: url.lastPathComponent) || OlderStore.isOurs(name, of: url.lastPathComponent) { try FileManager.default.removeItem(atPath: folder + "/" + name) }
    }

    /// Whether a restore has made this file for that store.
    static func isOurs(_ name: String, of store: String) -> Bool {
        name.hasPrefix(store + ending) && name.dropFirst((store + ending).count).wholeMatch(of: /\d{8}T\d{6}Z(?:-\d+)?(?:-wal|-shm|-journal)?/) != nil
    }
}
