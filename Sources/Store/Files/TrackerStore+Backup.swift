import Foundation
import GRDB
import TrackerCore

extension TrackerStore {
    /// Writes everything that the store has into a new database file: one consistent state, whoever else reads and
    /// writes meanwhile. The file is a store itself.
    /// - Parameter file: must not exist, or be empty.
    package func backUp(to file: String) throws {
        // Not one of our writes: the store may have been opened to look.
        try Self.sentences(at: file) {
            try database.writeWithoutTransaction { db in try db.execute(sql: "VACUUM INTO ?", arguments: [file]) }
        }
    }

    /// Whether anything was ever stored here that a restore would replace.
    package func isUsed() throws -> Bool {
        try rowCounts().contains {
            $0.rows > 0
                && ![
                    "counter", "written_file", "connection_state", "outlet", "outlet_topic", "told_through",
                    "drink_sequence", "leaving", "leaving_tried", "pocket_trouble",
                ].contains($0.table)
        }
    }

    /// Puts everything of a backup in the place of everything that is here, in one transaction: other programs that
    /// have the store open see the one or the other. What this store remembers of files that it wrote itself, and of
    /// those to whom it tells what happens, stays; a restore is no news to them, what they are told next is what
    /// happens next. What a backup has on its way to somebody stays where it is.
    /// - Parameters:
    ///   - file: a backup of this version or of 0.9; it is only read.
    ///   - scratch: an existing folder, for a copy that is checked, and brought up to date, before anything is
    ///     replaced.
    ///   - kept: a new file for what is replaced, a backup itself: of what a bottle has given away since there is no
    ///     other copy. `nil`: it is not kept.
    /// - Returns: the names of settings of the backup that 0.10 removed.
    /// - Throws: `StoreError`, after which the store is as it was.
    @discardableResult
    package func restore(from file: String, scratch: String, keeping kept: String? = nil) throws -> [String] {
        let copy = scratch + "/restored.sqlite"
        // It may be tried once more in the same folder.
        for more in ["", "-wal", "-shm", "-journal"] { unlink(copy + more) }
        let removed = try Self.speakingOfTheBackup(file) { try check(file, copy) }
        try replaceAll(from: copy, keeping: kept)
        return removed
    }

    /// Copies a backup, and converts and checks the copy.
    private func check(_ file: String, _ copy: String) throws -> [String] {
        // Through SQLite, changing nothing: others may have it open, and it may be a store in use.
        let source = try TrackerStore(path: file, for: .looking)
        guard source.found != .nothing else {
            throw StoreError(.foreign, "There is no backup in the file", at: file)
        }
        defer { try? source.database.close() }
        try source.backUp(to: copy)
        let backup = try TrackerStore(path: copy)
        let problems = try backup.integrityProblems()
        guard problems.isEmpty else {
            throw StoreError(.damaged, "The backup is damaged: \(problems[0])", at: file)
        }
        guard try backup.read(Self.schema) == read(Self.schema) else {
            throw StoreError(.foreign, "The file's tables are not those of a store", at: file)
        }
        try backup.database.close()
        return source.removedSettings
    }

    private func replaceAll(from copy: String, keeping kept: String?) throws {
        try writeWithoutTransaction { db in
            try db.execute(sql: "ATTACH ? AS backup", arguments: [copy])
            defer { try? db.execute(sql: "DETACH backup") }
            // The copy was checked: its rows point to each other. Table by table they do not.
            try db.execute(sql: "PRAGMA foreign_keys = OFF")
            defer { try? db.execute(sql: "PRAGMA foreign_keys = ON") }
            for _ in 0..<Self.restoreAttempts {
                let state = try Self.state(db)
                if let kept { try ReplacedStore.write(kept, db) }
                var (isReplaced, mayBeReplaced) = (false, false)
                defer { if let kept, !mayBeReplaced { unlink(kept) } }
                do {
                    try db.inTransaction(.immediate) {
                        // What another program stored meanwhile is not in the file that is kept: once more.
                        guard try kept == nil || Self.state(db) == state else { return .rollback }
                        try Self.replaceRows(db)
                        isReplaced = true
                        return .commit
                    }
                } catch let error as DatabaseError {
                    mayBeReplaced = StoreError.mayStand(after: error)
                    throw error
                }
                mayBeReplaced = isReplaced
                if isReplaced { return }
            }
            throw StoreError(.busy, "Other programs write it without a pause", at: path)
        }
    }

    private static func replaceRows(_ db: Database) throws {
        let own: Set = [
            "written_file", "connection_state", "outlet", "outlet_topic", "told_through",
            "drink_change", "drink_sequence", "claim", "pocket_message", "pocket_trouble", "leaving", "leaving_tried",
        ]
        for table in try tables(db) where !own.contains(table) {
            try db.execute(
                sql: "DELETE FROM main.\"\(table)\"; INSERT INTO main.\"\(table)\" SELECT * FROM backup.\"\(table)\"")
        }
        // Drinks that were told may be gone, and nobody says of which: who reads by position begins anew, as after a
        // purge.
        try db.execute(sql: "DELETE FROM main.drink_sequence")
        try DrinkPlaces.begin(db)
        try db.execute(
            sql: """
                UPDATE main.drink SET born = last + n, place = last + n
                    FROM (SELECT id AS found, row_number() OVER (ORDER BY id) AS n FROM main.drink), (SELECT \
                coalesce(max(last), 0) AS last FROM main.drink_sequence)
                    WHERE drink.id = found;
                INSERT INTO main.drink_sequence (only, last) SELECT 1, place FROM main.drink ORDER BY place DESC LIMIT 1
                    ON CONFLICT (only) DO UPDATE SET last = max(last, excluded.last);
                DELETE FROM main.sqlite_sequence WHERE name NOT IN ('pocket_message', 'drink_change');
                INSERT INTO main.sqlite_sequence SELECT * FROM backup.sqlite_sequence WHERE name NOT IN \
                ('pocket_message', 'drink_change');
                INSERT INTO main.sqlite_sequence SELECT * FROM backup.sqlite_sequence WHERE name = 'drink_change' AND \
                NOT EXISTS (SELECT 1 FROM main.sqlite_sequence WHERE name = 'drink_change');
                UPDATE main.sqlite_sequence SET seq = max(seq, coalesce((SELECT seq FROM backup.sqlite_sequence WHERE \
                name = 'drink_change'), 0)) WHERE name = 'drink_change';
                DELETE FROM main.counter WHERE name LIKE 'health.%';
                DELETE FROM main.drink_change;
                UPDATE main.told_through SET place = coalesce((SELECT max(place) FROM main.notification), 0);
                DELETE FROM main.claim WHERE decision IS NOT NULL;
                UPDATE main.drink_sequence SET putBack = last;
                UPDATE main.outlet SET position = coalesce((SELECT seq FROM main.sqlite_sequence WHERE name = \
                'drink_change'), 0)
                """)
        // An insertion of nothing would count, too.
        guard try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM backup.pocket_message)") == true else { return }
        try db.execute(
            sql: """
                INSERT INTO main.pocket_message (outlet, id, place, announcement, since, state, key)
                    SELECT outlet, id, place, announcement, since, iif(state = 'waiting', 'dropped', state), key
                    FROM backup.pocket_message AS old
                    WHERE NOT EXISTS (SELECT 1 FROM main.pocket_message AS here WHERE here.outlet = old.outlet AND \
                (here.id = old.id OR here.key = old.key)) ORDER BY seq
                """)
    }

    /// Changes when another connection has written (https://www.sqlite.org/pragma.html#pragma_data_version).
    private static func state(_ db: Database) throws -> Int? { try Int.fetchOne(db, sql: "PRAGMA main.data_version") }

    private static let restoreAttempts = 20

    /// What the opening says of a store is meant of the backup here: it names that file, and gives no advice about the
    /// store.
    private static func speakingOfTheBackup<Result>(_ file: String, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as StoreError {
            let what = error.what.replacing("The store", with: "The backup").replacing("the store", with: "the backup")
            let code =
                switch error.kind {
                case .newer: "backupIsNewer"
                case .busy: "backupIsBusy"
                case .diskFull: "noSpaceForBackup"
                case .cannotOpen, .readOnly: "backupCannotBeRead"
                case .damaged, .foreign, .inputOutput, .other: "noBackup"
                }
            throw StoreError(error.kind, what, at: file, code: code)
        }
    }

    private static func schema(_ db: Database) throws -> [String] {
        try String.fetchAll(
            db,
            sql:
                """
                SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_master WHERE name NOT LIKE \
                'sqlite_%' ORDER BY 1
                """
        )
    }
}
