import CommandKit
import FleetBackup
import FleetStore
import Foundation

/// The file of a fleet's keys, for its owner alone. Who writes it holds the lock beside it, and reads the database
/// under that: so that nobody writes older keys over newer ones.
struct KeyFile {
    private let path: String

    init(_ path: String) { self.path = path }

    /// - Throws: where it is not there, too.
    func read() throws -> BackupKeys {
        var bytes: [UInt8] = [], isFolder: ObjCBool = false
        guard !FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) || !isFolder.boolValue else {
            throw CommandFailure(
                .badInput, "\(path) is a directory.", advice: "Name the file of the fleet's keys, in it or elsewhere.")
        }
        try InputFile(path).read { bytes.append(contentsOf: $0) }
        return try BackupKeys(file: bytes)
    }

    private func readIfThere() throws -> BackupKeys? { FileManager.default.fileExists(atPath: path) ? try read() : nil }

    /// Whether somebody has a key in it.
    /// - Parameter owner: SHA-256 of the name.
    func opens(_ owner: String) throws -> Bool { try readIfThere()?.seals.contains { $0.owner == owner } ?? false }

    /// The keys of another fleet are not written over; and those that are missing in the database are made.
    func check(_ database: DatabaseOptions) throws {
        let old = try readIfThere()
        let now = try database.use { store in
            try store.makeSeals()
            return try BackupKeys(store)
        }
        if let old { try check(now, old) }
    }

    private func check(_ now: BackupKeys, _ old: BackupKeys) throws {
        guard now.isOfSameFleet(as: old) else {
            throw CommandFailure(
                .refused, "\(path) holds the keys of another fleet.",
                advice: "Name another file, or the database that these keys are of.")
        }
    }

    /// Keys that were thrown away seal nothing any more: a database that still has them was put back from before that.
    func checkBackup(_ database: DatabaseOptions) throws {
        try check(database)
        guard let old = try readIfThere() else { return }
        try database.use { store in
            let outlived = try BackupKeys(store).outlived(by: old),
                people = outlived.filter { $0.owner != FleetStore.memoryOwner }
            // A key may have stayed of somebody whom nobody names any more.
            let names = try store.names(of: people.map(\.owner))
            guard names.isEmpty else {
                throw CommandFailure(
                    .refused,
                    """
                    \(path) says that somebody was forgotten whom this database still knows: it was put back from \
                    before that.
                    """,
                    advice: """
                        Put back the newest backup instead (waterh-fleet restore), or forget them here, too \
                        (waterh-fleet forget NAME --keys \(path)). Where they were rightly made known again here, \
                        say so to the file (waterh-fleet allow GATEWAY NAME --keys \(path)). It is about: \
                        \(names.joined(separator: ", ")).
                        """)
            }
            try store.dropSeals(outlived.map(\.id))
            try store.learn(old.forgettings)
        }
    }

    /// Writes those that there are now, and of the old ones those whose owners are not forgotten; the database learns
    /// who was forgotten elsewhere.
    /// - Parameters:
    ///   - used: what a backup calls the keys that it was sealed with.
    ///   - people: who is known again, whatever the file says.
    /// - Returns: what is in it now.
    @discardableResult
    func write(_ database: DatabaseOptions, used: some Sequence<String> = [], knownAgain people: [String] = []) throws
        -> BackupKeys
    {
        // Before the lock is held, which others wait for.
        if let old = try readIfThere() { try database.use { try learn(old, people, $0) } }
        let lock = try lock()
        defer { close(lock) }
        let old = try readIfThere()
        let now = try database.use { store in
            if let old { try learn(old, people, store, within: .seconds(3)) }
            return try BackupKeys(store)
        }.over(old, used: used)
        // A file that is there keeps its mode when it is replaced.
        if old != nil, chmod(path, 0o600) != 0 {
            throw CommandFailure(
                .failed, "\(path) cannot be made its owner's alone: \(String(cString: strerror(errno))).",
                advice: "Run this as the file's owner.")
        }
        let output = try OutputFile(path)
        try output.write(now.file)
        try output.commit()
        return now
    }

    private func learn(
        _ old: BackupKeys, _ people: [String], _ store: FleetStore, within limit: Duration = .seconds(20)
    ) throws {
        try check(try BackupKeys(store), old)
        try store.learn(old.forgettings, knownAgain: people.map(store.owner), within: limit)
        if !people.isEmpty { try store.makeSeals() }
    }

    private func lock() throws -> Int32 {
        let name = Self.lockName(path), descriptor = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw CommandFailure(
                .failed, "\(name) cannot be opened: \(String(cString: strerror(errno))).",
                advice: "The folder of the keys has to be writable.")
        }
        let limit = ContinuousClock.now + .seconds(60)
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR, ContinuousClock.now < limit else {
                close(descriptor)
                throw CommandFailure(
                    .failed, "\(path) has been written by another program for a minute.",
                    advice: "See what that program waits for, and try again.")
            }
            usleep(20_000)
        }
        return descriptor
    }

    /// One for all names of the file that are links.
    static func lockName(_ path: String) -> String { (FilePlace(path)?.path ?? path) + ".lock" }
}
