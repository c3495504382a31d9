import Foundation
import GRDB

/// A store as it was before a later version's steps: a file beside it, and a backup itself. Steps go forward only, so
/// without it there is no way back.
enum OlderStore {
    /// `STORE-schema-22`: at most one for each number of steps. An older one with that number is replaced.
    static func name(beside store: String, steps: Int) -> String { "\(store)\(ending)\(steps)" }

    private static let ending = "-schema-"

    /// Writes the store as it stands on the disk, for its owner alone, and brings that to the disk. To be called while
    /// somebody holds the store's lock for writing: then nobody changes it between the copy and the step.
    /// - Throws: `StoreError`; there is no copy then, and the store is as it was.
    static func keep(_ file: StoreFile, path: String, steps: Int) throws {
        let kept = name(beside: path, steps: steps), new = kept + ".new"
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
