import Foundation
import GRDB

/// The copy of a store of 0.9 that is made before the store is converted. It is a backup for 0.9.
enum OlderStore {
    /// `STORE-schema-30`. An older copy is replaced.
    static func name(beside store: String) -> String { "\(store)\(ending)\(Schema.release09)" }

    private static let ending = "-schema-"

    /// Copies the store, for its owner only, and synchronises the copy to the disk. The caller holds the store's write
    /// lock, so that no other process changes the store between the copy and the conversion.
    /// - Throws: `StoreError`. There is no copy then, and the store is unchanged.
    static func keep(_ file: StoreFile, path: String) throws {
        let kept = name(beside: path), new = kept + ".new"
        unlink(new)  // Of a program that was killed here.
        let descriptor = open(new, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw trouble(new) }
        defer { close(descriptor) }
        do {
            var configuration = Configuration()
            configuration.readonly = true
            let reader = try DatabaseQueue(path: file.name, configuration: configuration)
            try TrackerStore.sentences(at: new) {
                try reader.writeWithoutTransaction { try $0.execute(sql: "VACUUM INTO ?", arguments: [new]) }
            }
            try reader.close()
            guard fsync(descriptor) == 0, rename(new, kept) == 0 else { throw trouble(new) }
        } catch {
            unlink(new)
            throw error
        }
    }

    /// Whether a file of this name is such a copy of that store, or what is left of one.
    static func isOurs(_ name: String, of store: String) -> Bool {
        name.hasPrefix(store + ending)
            && name.dropFirst((store + ending).count).wholeMatch(of: /\d{1,4}(?:\.new)?(?:-wal|-shm|-journal)?/) != nil
    }

    private static func trouble(_ file: String) -> StoreError {
        let reason = String(cString: strerror(errno))
        return StoreError(
            errno == ENOSPC ? .diskFull : .inputOutput,
            """
            The store is of an earlier version, and cannot be kept as it is before it is brought up to date: \
            \(reason)
            """,
            at: file)
    }
}
