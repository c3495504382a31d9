import Foundation
import GRDB
import TrackerCore

extension TrackerStore {
    /// Updates `health/STORE-drinks.xml` and `.csv` next to the store (tracker spec D4) if `health.enabled` is set.
    /// Appends new drinks, and rewrites both files after an edit or deletion.
    ///
    /// Call it after a commit. An error does not affect the store, and the next call repairs the files.
    package func updateHealthFiles() throws {
        guard path != ":memory:", try settings().healthEnabled, case let look = try healthLook(), look.isWanted,
            !look.isDone
        else { return }
        try remember(
            HealthFile.both(beside: path), madeFolder: HealthFile.makeFolder(beside: path), known: look.written)
        let turn = try HealthFile.takeTurn(beside: path)
        defer { close(turn) }
        // Check again under the lock.
        let now = try healthLook()
        if now.isWanted, !now.isDone { try bringHealthFiles(to: now) }
    }

    private func bringHealthFiles(to look: HealthLook) throws {
        let files = HealthFile.both(beside: path)
        if look.isInStep {
            for file in files {
                try file.append { take in try forEachDrink(after: look.reached, through: look.through, take) }
            }
        } else {
            // Append only the drinks found above; the next call appends later ones.
            for file in files { try file.replace { take in try forEachDrink(after: 0, through: look.through, take) } }
        }
        try WrittenFiles.remove(look.written.intersection(HealthFile.formerNames), beside: path)
        try write { db in
            for name in HealthFile.formerNames {
                try db.execute(sql: "DELETE FROM written_file WHERE name = ?", arguments: [name])
            }
            for (counter, value) in zip(HealthCounter.allCases, [look.through, look.rewrites] + files.map(\.size)) {
                try Counter.set(counter.rawValue, value, db)
            }
        }
    }

    private func healthLook() throws -> HealthLook {
        let isWanted = try settings().healthEnabled
        let sizes = HealthFile.both(beside: path).map(\.size)
        return try read { db in
            let state = try HealthCounter.allCases.map { try Counter.value($0.rawValue, db) }
            let rewrites = try Counter.value("drink.rewrites", db)
            return try HealthLook(
                isWanted: isWanted, through: Int.fetchOne(db, sql: "SELECT max(id) FROM drink") ?? 0,
                rewrites: rewrites, written: WrittenFiles.names(db), reached: state[0],
                isInStep: rewrites == state[1] && sizes == Array(state[2...]) && state[2] > 0)
        }
    }

    /// Deletes the files that the store or its service has written next to it (purge). Also deletes the health
    /// directory if it is empty and the store created it. Waits for a running writer.
    /// - Parameter body: runs before other writers continue.
    package func removeWrittenFiles(then body: () throws -> Void = {}) throws {
        guard path != ":memory:" else { return try body() }
        let madeFolder = try settings().healthEnabled && (try? HealthFile.makeFolder(beside: path)) == true
        let turn = HealthFile.isFolder(beside: path) ? try HealthFile.takeTurn(beside: path) : nil
        defer { if let turn { close(turn) } }
        // The files that a copied store has recorded belong to the original.
        let state = StateFile.name(beside: path)
        let own = HealthFile.both(beside: path).map(\.name) + [HealthFile.folder, state] + HealthFile.formerNames
        var found = try read { db in try WrittenFiles.names(db) }.intersection(own)
        if found.contains(state) {
            found.formUnion(StateFile.leftovers(state, in: URL(fileURLWithPath: path).deletingLastPathComponent().path))
        }
        if madeFolder { found.insert(HealthFile.folder) }
        try WrittenFiles.remove(found, beside: path)
        try KeptPolls.remove(beside: path)
        try StoreCopy.remove(of: path)
        try body()
    }

    /// Stores the names before the files are created, so that a purge finds them.
    private func remember(_ files: [HealthFile], madeFolder: Bool, known: Set<String>) throws {
        let names = files.map(\.name) + (madeFolder ? [HealthFile.folder] : [])
        guard !known.isSuperset(of: names) else { return }
        try write { db in
            for name in names {
                try db.execute(sql: "INSERT OR IGNORE INTO written_file (name) VALUES (?)", arguments: [name])
            }
        }
    }

    private func forEachDrink(
        after first: Int, through last: Int, _ body: (Drink, String?, ExportedRecord?) throws -> Void
    ) throws {
        try readAtLength { db in
            try DrinkTable.exported("AND drink.id > ? AND drink.id <= ?", [first, last], db).forEachDrink(body)
        }
    }
}

private struct HealthLook {
    var isWanted: Bool
    /// The row id of the last drink in the store.
    var through: Int
    var rewrites: Int
    var written: Set<String>
    /// The row id of the last drink in the files.
    var reached: Int
    /// Whether the files are unchanged and complete.
    var isInStep: Bool

    var isDone: Bool { isInStep && through <= reached }
}

/// Counters of the health files: last drink, rewrites, sizes.
private enum HealthCounter: String, CaseIterable {
    case through = "health.through"
    case rewrites = "health.rewrites"
    case xmlBytes = "health.xmlBytes"
    case csvBytes = "health.csvSize"
}

/// Files that the store wrote to its directory.
private enum WrittenFiles {
    static func names(_ db: Database) throws -> Set<String> {
        try Set(String.fetchAll(db, sql: "SELECT name FROM written_file"))
    }

    /// Deletes regular files, then empty directories. Other types do not belong to the store.
    static func remove(_ names: Set<String>, beside path: String) throws {
        let parent = URL(fileURLWithPath: path).deletingLastPathComponent().path
        for name in names.sorted(by: >) {
            let file = "\(parent)/\(name)"
            var found = stat()
            guard lstat(file, &found) == 0 else { continue }
            if name.hasSuffix("/") {
                rmdir(file)
            } else if found.st_mode & S_IFMT == S_IFREG, unlink(file) != 0, errno != ENOENT {
                throw StoreError(
                    .inputOutput, "Deleting a file next to the store failed: \(String(cString: strerror(errno)))",
                    at: file, code: "healthFileStays")
            }
        }
    }
}

/// A private file that is replaced as a whole or appended to.
private struct HealthFile {
    static let folder = "health/"
    static let formerNames = ["health/drinks.xml", "health/drinks.csv"]

    let format: HealthFiles.Format
    /// The path relative to the store's directory.
    let name: String
    private let path: String

    init(_ format: HealthFiles.Format, beside store: String) {
        self.format = format
        let url = URL(fileURLWithPath: store)
        name = "\(Self.folder)\(url.lastPathComponent)-drinks.\(format == .csv ? "csv" : "xml")"
        path = url.deletingLastPathComponent().appendingPathComponent(name).path
    }

    static func both(beside store: String) -> [HealthFile] {
        [HealthFile(.appleHealth, beside: store), HealthFile(.csv, beside: store)]
    }

    private static func folder(beside store: String) -> String {
        URL(fileURLWithPath: store).deletingLastPathComponent().appendingPathComponent(folder).path
    }

    static func makeFolder(beside store: String) throws -> Bool {
        let folder = folder(beside: store)
        if mkdir(folder, 0o700) == 0 { return true }
        guard errno == EEXIST else { throw trouble(folder) }
        return false
    }

    static func isFolder(beside store: String) -> Bool {
        var found = stat()
        return stat(folder(beside: store), &found) == 0 && found.st_mode & S_IFMT == S_IFDIR
    }

    /// Waits for the lock of writers.
    /// - Returns: a descriptor that holds the lock until it is closed.
    static func takeTurn(beside store: String) throws -> Int32 {
        let folder = folder(beside: store)
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw trouble(folder) }
        for _ in 0..<turns {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return descriptor }
            usleep(pause)
        }
        close(descriptor)
        throw StoreError(
            .busy, "Another program has been writing the files in it for \(UInt32(turns) * pause / 1_000_000) s",
            at: folder)
    }

    /// The pause between attempts in microseconds.
    private static let pause: UInt32 = 5000
    private static let turns = 1000

    private static func trouble(_ path: String) -> NSError {
        NSError(domain: NSPOSIXErrorDomain, code: Int(errno), userInfo: [NSFilePathErrorKey: path])
    }

    var size: Int { ((try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int) ?? 0 }

    /// Writes a temporary file, calls fsync and renames it.
    func replace(_ drinks: ((Drink, String?, ExportedRecord?) throws -> Void) throws -> Void) throws {
        let new = path + ".new"
        unlink(new)
        let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.trouble(new) }
        defer { unlink(new) }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        defer { try? handle.close() }
        var export = HealthExport(format)
        try write(export.opening, drinks, &export, to: handle)
        try handle.synchronize()
        guard rename(new, path) == 0 else { throw Self.trouble(path) }
    }

    /// Inserts drinks before the last line.
    func append(_ drinks: ((Drink, String?, ExportedRecord?) throws -> Void) throws -> Void) throws {
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        defer { try? handle.close() }
        var export = HealthExport(format)
        try handle.seek(toOffset: UInt64(max(0, size - export.end.utf8.count)))
        try write("", drinks, &export, to: handle)
    }

    private func write(
        _ opening: String, _ drinks: ((Drink, String?, ExportedRecord?) throws -> Void) throws -> Void,
        _ export: inout HealthExport,
        to handle: FileHandle
    ) throws {
        var bytes = Array(opening.utf8)
        try drinks { drink, original, record in
            export.append(drink, insteadOf: original, record: record, to: &bytes)
            guard bytes.count >= 1 << 16 else { return }
            try handle.write(contentsOf: bytes)
            bytes.removeAll(keepingCapacity: true)
        }
        try handle.write(contentsOf: bytes + Array(export.end.utf8))
    }
}
