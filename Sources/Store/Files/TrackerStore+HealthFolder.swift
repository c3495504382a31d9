import Foundation
import GRDB
import TrackerCore

extension TrackerStore {
    /// Replaces `health/STORE-drinks.xml` and `.csv` next to the store (tracker spec D4). Does nothing unless
    /// `health.enabled` is set and the drinks or the files have changed.
    ///
    /// Call it after a commit. An error does not affect the store, and the next call repairs the files.
    package func updateHealthFiles() throws {
        guard path != ":memory:", try needsHealthFiles() else { return }
        try HealthFile.createFolder(beside: path)
        let lock = try HealthFile.lock(beside: path)
        defer { close(lock) }
        // Another process might have written the files before this one got the lock.
        guard try needsHealthFiles() else { return }
        let files = HealthFile.all(beside: path)
        let position = try readSeparately { db in
            for file in files { try file.replace(with: DrinkTable.exported(db)) }
            return try DrinkPositions.last(db)
        }
        try write { db in
            for (name, value) in zip(HealthFile.counters, [Int(position)] + files.map(\.size)) {
                try Counter.set(name, value, db)
            }
        }
    }

    private func needsHealthFiles() throws -> Bool {
        let sizes = HealthFile.all(beside: path).map(\.size)
        return try read { db in
            guard try SettingTable.settings(db).healthEnabled else { return false }
            let written = try HealthFile.counters.map { try Counter.value($0, db) }
            return try sizes.contains(0) || written != [Int(DrinkPositions.last(db))] + sizes
        }
    }

    /// Deletes the files that the store or its service has written next to it (purge). Deletes the health directory if
    /// it is empty. Waits for a running writer.
    /// - Parameter body: runs before other writers continue.
    package func removeWrittenFiles(then body: () throws -> Void = {}) throws {
        guard path != ":memory:" else { return try body() }
        if try settings().healthEnabled { try? HealthFile.createFolder(beside: path) }
        let lock = HealthFile.isFolder(beside: path) ? try HealthFile.lock(beside: path) : nil
        defer { if let lock { close(lock) } }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        let states = StateFile.unfinishedFiles(StateFile.name(beside: path), in: folder).map { "\(folder)/\($0)" }
        for file in HealthFile.all(beside: path).map(\.path) + [path + StateFile.suffix] + states {
            var info = stat()
            // Files of other types do not belong to the store.
            guard lstat(file, &info) == 0, info.st_mode & S_IFMT == S_IFREG, unlink(file) != 0, errno != ENOENT else {
                continue
            }
            throw StoreError(
                .inputOutput, "Deleting a file next to the store failed: \(String(cString: strerror(errno)))",
                at: file, code: "healthFileStays")
        }
        rmdir(HealthFile.folder(beside: path))
        try FailedPollFiles.remove(beside: path)
        try StoreCopy.remove(of: path)
        try body()
    }
}

/// A private file with all drinks.
private struct HealthFile {
    /// The names in the table `counter` for the last change of drinks in the files, and for their sizes.
    static let counters = ["health.place", "health.xmlBytes", "health.csvSize"]

    let format: HealthFiles.Format
    let path: String

    static func all(beside store: String) -> [HealthFile] {
        let name = URL(fileURLWithPath: store).lastPathComponent
        return [(HealthFiles.Format.appleHealth, "xml"), (.csv, "csv")].map { format, type in
            HealthFile(format: format, path: "\(folder(beside: store))/\(name)-drinks.\(type)")
        }
    }

    static func folder(beside store: String) -> String {
        URL(fileURLWithPath: store).deletingLastPathComponent().appendingPathComponent("health").path
    }

    static func createFolder(beside store: String) throws {
        let folder = folder(beside: store)
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw failure(folder) }
    }

    static func isFolder(beside store: String) -> Bool {
        var info = stat()
        return stat(folder(beside: store), &info) == 0 && info.st_mode & S_IFMT == S_IFDIR
    }

    /// Waits for the lock of writers.
    /// - Returns: a descriptor that holds the lock until it is closed.
    static func lock(beside store: String) throws -> Int32 {
        let folder = folder(beside: store)
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(folder) }
        for _ in 0..<attempts {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return descriptor }
            usleep(pause)
        }
        close(descriptor)
        throw StoreError(
            .busy, "Another program has been writing the health files for \(UInt32(attempts) * pause / 1_000_000) s",
            at: folder)
    }

    /// The pause between attempts to lock in microseconds.
    private static let pause: UInt32 = 5000
    private static let attempts = 1000

    private static func failure(_ path: String) -> NSError {
        NSError(domain: NSPOSIXErrorDomain, code: Int(errno), userInfo: [NSFilePathErrorKey: path])
    }

    var size: Int { ((try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int) ?? 0 }

    /// Writes a temporary file and renames it. No fsync, because the next call replaces an incomplete file.
    func replace(with drinks: RowCursor) throws {
        let new = path + ".new"
        unlink(new)
        let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure(new) }
        defer { unlink(new) }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var export = HealthExport(format)
        var bytes = Array(export.header.utf8)
        try drinks.forEachDrink { drink, original, record in
            export.append(drink, insteadOf: original, record: record, to: &bytes)
            guard bytes.count >= 1 << 16 else { return }
            try handle.write(contentsOf: bytes)
            bytes.removeAll(keepingCapacity: true)
        }
        try handle.write(contentsOf: bytes + Array(export.end.utf8))
        try handle.close()
        guard rename(new, path) == 0 else { throw Self.failure(path) }
    }
}
