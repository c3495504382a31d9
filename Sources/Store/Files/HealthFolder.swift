import Foundation
import GRDB
import TrackerCore

extension TrackerStore {
    /// Keeps `health/drinks.xml` and `health/drinks.csv` beside the store in step with it (`tracker.md` D4): new drinks
    /// are appended, after an edit or deletion both are written anew. Does nothing unless `health.enabled`.
    ///
    /// Call it after a commit; the store is right whatever becomes of the files, and the next call mends them.
    public func updateHealthFiles() throws {
        guard path != ":memory:", try settings().healthEnabled else { return }
        let folder = healthFolder
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let xml = folder.appendingPathComponent("drinks.xml")
        let csv = folder.appendingPathComponent("drinks.csv")
        let (through, rewrites, state) = try read { db in
            (
                try Int64.fetchOne(db, sql: "SELECT max(id) FROM drink") ?? 0, try Counter.value("drink.rewrites", db),
                try ["health.through", "health.rewrites", "health.xmlBytes", "health.csvBytes"].map { try Counter.value($0, db) }
            )
        }
        let isInStep = rewrites == state[1] && size(xml) == state[2] && size(csv) == state[3] && state[2] > 0
        if isInStep {
            guard through > state[0] else { return }
            let new = try read { db in
                try Row.fetchAll(
                    db, sql: "SELECT * FROM drink WHERE id > ? AND id <= ? AND deleted = 0 ORDER BY instant, key",
                    arguments: [state[0], through]
                ).readable { try StoredDrink(row: $0).drink }
            }
            try append(new.map { HealthExport.record($0) }.joined(), to: xml, before: Self.xmlEnd)
            let lines = HealthExport.csv(new).split(separator: "\n", omittingEmptySubsequences: true).dropFirst()
            try append(lines.map { $0 + "\n" }.joined(), to: csv, before: "")
        } else {
            let all = try allDrinks()
            try Data(HealthExport.appleHealth(all).utf8).write(to: xml, options: .atomic)
            try Data(HealthExport.csv(all).utf8).write(to: csv, options: .atomic)
        }
        let (xmlBytes, csvBytes) = (size(xml), size(csv))
        try write { db in
            for (name, value) in [
                ("health.through", Int(through)), ("health.rewrites", rewrites), ("health.xmlBytes", xmlBytes),
                ("health.csvBytes", csvBytes),
            ] { try Counter.set(name, value, db) }
        }
    }

    /// Removes the health files (purge).
    public func removeHealthFiles() throws {
        guard path != ":memory:", FileManager.default.fileExists(atPath: healthFolder.path) else { return }
        try FileManager.default.removeItem(at: healthFolder)
    }

    private var healthFolder: URL { URL(fileURLWithPath: path).deletingLastPathComponent().appendingPathComponent("health") }

    private static let xmlEnd = "</HealthData>\n"

    private func size(_ file: URL) -> Int {
        ((try? FileManager.default.attributesOfItem(atPath: file.path))?[.size] as? Int) ?? 0
    }

    /// Writes text before the file's closing line.
    private func append(_ text: String, to file: URL, before end: String) throws {
        let handle = try FileHandle(forWritingTo: file)
        defer { try? handle.close() }
        try handle.seek(toOffset: UInt64(max(0, size(file) - end.utf8.count)))
        try handle.write(contentsOf: Data((text + end).utf8))
    }
}

/// Numbers with names, kept in the store.
enum Counter {
    static func value(_ name: String, _ db: Database) throws -> Int {
        try Int.fetchOne(try db.cachedStatement(sql: "SELECT value FROM counter WHERE name = ?"), arguments: [name]) ?? 0
    }

    static func set(_ name: String, _ value: Int, _ db: Database) throws {
        try db.execute(sql: """
            INSERT INTO counter (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value
            """, arguments: [name, value])
    }

    static func add(_ name: String, _ more: Int, _ db: Database) throws {
        try db.execute(sql: """
            INSERT INTO counter (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = value + excluded.value
            """, arguments: [name, more])
    }
}
