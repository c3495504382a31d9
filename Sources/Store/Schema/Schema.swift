import GRDB

/// The named, forward-only steps from an empty file to today's tables.
///
/// `application_id` marks the file as ours; `user_version` is the number of steps taken, so that a store from
/// tomorrow is refused rather than misread, and a store from yesterday is brought up in one transaction a step.
enum Schema {
    /// "WATH" as a big-endian number: SQLite's `application_id` of our files.
    static let applicationID: Int32 = 0x5741_5448

    struct Migration: Sendable {
        var name: String
        var sql: String
    }

    /// Every step ever landed, oldest first. Never edit one that has landed: append.
    static let migrations: [Migration] = [
        journal, tracker, readings, files, decisions, clocks, connection, witness, ownBottles, nearSettings, requests,
        agreements, bottleSettings,
        edits, outlets, lights, places, pocket, homes, outletTroubles, toldZones, push, phone, givenPlaces, telling,
        leavings, pocketAddresses, takingBack,
        troubleTimes, fleetTold,
    ]

    /// - Parameter before: called with the number of steps that an older store has had, before the first that it takes
    ///   now, while it is locked for writing.
    static func bringUpToDate(_ database: DatabaseQueue, path: String, before: (_ steps: Int) throws -> Void = { _ in })
        throws
    {
        let found = try database.read { db in try version(db, path: path, checksColumns: false) }
        guard found < migrations.count else { return }
        // An empty file gets all tables at once, or none: there is nothing in it that would take long, and each
        // transaction waits for the disk.
        for steps in found == 0 ? [0..<migrations.count] : (found..<migrations.count).map({ $0..<$0 + 1 }) {
            try database.write { db in
                // Another process may have taken these steps while we waited for the lock.
                guard try version(db, path: path) == steps.lowerBound else { return }
                if steps.lowerBound == 0 {
                    try db.execute(sql: atOnce(migrations))
                    // One in memory is nobody's for long: who looks where there is no store yet has read nothing of it.
                    if path != ":memory:" { try DrinkPlaces.begin(db) }
                } else if steps.lowerBound == found {
                    try before(found)
                }
                for step in steps {
                    if steps.lowerBound > 0 { try db.execute(sql: migrations[step].sql) }
                    try db.cachedStatement(sql: "INSERT INTO migration (name) VALUES (?)").execute(arguments: [
                        migrations[step].name
                    ])
                }
                try db.execute(sql: "PRAGMA application_id = \(applicationID)")
                try db.execute(sql: "PRAGMA user_version = \(steps.upperBound)")
            }
        }
    }

    /// Steps already taken; 0 for a new file. To be called in a transaction: its parts belong together.
    /// - Parameter checksColumns: not where that was done when the connection was made: it asks for every table.
    /// - Throws: `StoreError` of kind `foreign`, `newer` or `damaged`.
    static func version(_ db: Database, path: String, checksColumns: Bool = true) throws -> Int {
        let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        let application = try Int32.fetchOne(db, sql: "PRAGMA application_id") ?? 0
        if application != applicationID {
            let tables = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") ?? 0
            guard application == 0, version == 0, tables == 0 else {
                throw StoreError(.foreign, "The file is a SQLite database of another program", at: path)
            }
            return 0
        }
        guard version >= 0 else {
            throw StoreError(
                .damaged, "The store says that its schema is \(version), which no version of this program ever wrote",
                at: path, code: "schemaIsWrong")
        }
        guard version <= migrations.count else {
            throw StoreError(
                .newer,
                "The store was written by a later version (schema \(version), this program knows \(migrations.count))",
                at: path)
        }
        if checksColumns, version == migrations.count { try checkColumns(db, path: path) }
        return version
    }
}
