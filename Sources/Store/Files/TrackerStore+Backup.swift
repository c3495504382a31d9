import Foundation
import GRDB
package import TrackerCore

extension TrackerStore {
    /// Writes a backup: a copy of the store without tokens, which belong to one installation.
    /// - Parameters:
    ///   - file: must not exist, or must be empty.
    ///   - secrets: keeps passwords of other services in the settings.
    package func backUp(to file: String, secrets: Bool = false) throws {
        try copy(to: file)
        try Self.convertingErrors(at: file) {
            let backup = try DatabaseQueue(path: file.hasPrefix("/") ? file : "./" + file)
            try backup.writeWithoutTransaction { db in
                // Overwrite the deleted rows, so that no token stays in the file.
                try db.execute(sql: "PRAGMA secure_delete = ON; DELETE FROM token")
                guard !secrets else { return }
                for entry in Settings.catalogue where entry.isSecret {
                    try db.run("DELETE FROM setting WHERE name = ?", [entry.name])
                }
            }
            try backup.close()
        }
    }

    /// Copies the whole store to a new file in one consistent state, while other connections read and write.
    private func copy(to file: String) throws {
        try requireSameFile()
        try Self.convertingErrors(at: file) {
            let source = database is DatabasePool ? try StoreOpening.connection(path, isReadOnly: true) : database
            try source.writeWithoutTransaction { try $0.execute(sql: "VACUUM INTO ?", arguments: [file]) }
        }
    }

    /// Whether the store has data that a restore would replace.
    package func hasRowsToReplace() throws -> Bool { try read(Self.hasRowsToReplace) }

    private static func hasRowsToReplace(_ db: Database) throws -> Bool {
        try Schema.tableNames.contains {
            guard Schema.restoreRules[$0] == .replaced else { return false }
            return try db.has("FROM main.\($0)")
        }
    }

    /// Replaces the contents of this store by those of a backup, in one transaction.
    ///
    /// Data that other systems received, revoked tokens and numbers of drinks are not rewound (`Schema.RestoreRule`).
    /// A publisher continues with the changes after the restore.
    /// - Parameters:
    ///   - file: a backup of this version or of 0.9, opened for reading only.
    ///   - scratch: an existing directory for a copy that is converted and checked first.
    ///   - now: the time in the name of the file with the replaced contents; `nil` keeps none.
    ///   - confirm: called after the backup was checked; its error cancels the restore.
    /// - Returns: the path of that file, which is a backup, and the names of settings of the backup that 0.10 removed.
    /// - Throws: `StoreError`, or the error of `confirm`. The store is unchanged then.
    @discardableResult
    package func restore(
        from file: String, scratch: String, keepingAt now: Instant? = nil, confirm: () throws -> Void = {}
    ) throws -> (kept: String?, removedSettings: [String]) {
        let copy = scratch + "/restored.sqlite"
        for suffix in ["", "-wal", "-shm", "-journal"] { unlink(copy + suffix) }
        let removed = try Self.convertingBackupErrors(file) { try copyAndCheck(file, to: copy) }
        try confirm()
        return try writeWithoutTransaction { db in
            try db.run("ATTACH ? AS backup", [copy])
            defer { try? db.execute(sql: "DETACH backup") }
            // The copy was checked as a whole. References are incomplete while tables are replaced.
            try db.execute(sql: "PRAGMA foreign_keys = OFF")
            defer { try? db.execute(sql: "PRAGMA foreign_keys = ON") }
            var kept: String?
            do {
                try db.inTransaction(.immediate) {
                    // This process has the write lock, so the copy has exactly the replaced rows.
                    if let now, try Self.hasRowsToReplace(db), let name = StoreCopy.beforeRestore(of: path, at: now) {
                        try StoreCopy.write(path, to: name)
                        kept = name
                    }
                    try Self.replaceRows(db)
                    return .commit
                }
            } catch let error {
                if let kept, (error as? DatabaseError).map(StoreError.mightBeDurable) != true { unlink(kept) }
                throw error
            }
            return (kept, removed)
        }
    }

    /// Copies the backup, and converts and checks the copy. Returns the names of removed settings.
    private func copyAndCheck(_ file: String, to copy: String) throws -> [String] {
        // The backup can be a store in use by another process.
        let source = try TrackerStore(path: file, for: .reading)
        guard source.fileState != .nothing else {
            throw StoreError(.foreign, "The file is not a backup", at: file)
        }
        defer { try? source.database.close() }
        try source.copy(to: copy)
        let backup = try TrackerStore(path: copy)
        let problems = try backup.integrityProblems()
        guard problems.isEmpty else {
            throw StoreError(.damaged, "The backup is damaged: \(problems[0])", at: file)
        }
        guard try backup.read(Self.schema) == read(Self.schema) else {
            throw StoreError(.foreign, "The file does not have the tables of a store", at: file)
        }
        try backup.database.close()
        return source.removedSettings
    }

    private static func replaceRows(_ db: Database) throws {
        // A backup without passwords keeps those of this store.
        let settings: [(name: String, value: String)] = try db.pairs("SELECT name, value FROM main.setting")
        let secrets = settings.filter { setting in
            Settings.catalogue.contains { $0.isSecret && $0.name == setting.name }
        }
        for table in Schema.tableNames {
            guard let rule = Schema.restoreRules[table] else { preconditionFailure("no rule to restore \(table)") }
            if rule == .replaced { try db.execute(sql: "DELETE FROM main.\(table)") }
            guard rule != .kept else { continue }
            let columns = try Schema.columns(of: table, db).filter { rule == .replaced || $0 != "seq" }
            // Do not send notifications that were waiting at the time of the backup.
            let values = columns.map { $0 == "state" ? "iif(state = 'waiting', 'dropped', state)" : $0 }
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO main.\(table) (\(columns.joined(separator: ", ")))
                    SELECT \(values.joined(separator: ", ")) FROM backup.\(table)
                    """)
        }
        for secret in secrets {
            try db.run("INSERT OR IGNORE INTO main.setting (name, value) VALUES (?, ?)", [secret.name, secret.value])
        }
        // Give all drinks new positions, so that clients that read by position start again. Otherwise they would keep
        // the drinks that the restore removed.
        try db.execute(sql: "DELETE FROM main.drink_sequence")
        try DrinkPositions.initialise(db)
        try db.execute(
            sql: """
                UPDATE main.drink SET firstPosition = last + n, position = last + n
                    FROM (SELECT id AS found, row_number() OVER (ORDER BY id) AS n FROM main.drink),
                        (SELECT last FROM main.drink_sequence)
                    WHERE drink.id = found;
                UPDATE main.drink_sequence SET last = max(last, coalesce((SELECT max(position) FROM main.drink), 0));
                UPDATE main.drink_sequence SET restoredThrough = last;
                UPDATE main.sqlite_sequence SET seq = max(seq, coalesce(
                    (SELECT seq FROM backup.sqlite_sequence AS b WHERE b.name = sqlite_sequence.name), 0));
                INSERT INTO main.sqlite_sequence SELECT * FROM backup.sqlite_sequence
                    WHERE name NOT IN (SELECT name FROM main.sqlite_sequence);
                DELETE FROM main.counter WHERE name LIKE 'health.%';
                DELETE FROM main.drink_change;
                DELETE FROM main.claim WHERE decision IS NOT NULL;
                UPDATE main.channel_position SET position = coalesce((SELECT max(position) FROM main.notification), 0);
                UPDATE main.publisher SET position = coalesce(
                    (SELECT seq FROM main.sqlite_sequence WHERE name = 'drink_change'), 0)
                """)
    }

    /// Runs `body` and converts its errors about the store to errors about the backup file.
    private static func convertingBackupErrors<Result>(_ file: String, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as StoreError {
            let text = error.cause.replacing("The store", with: "The backup").replacing("the store", with: "the backup")
            let code =
                switch error.kind {
                case .newer: "backupIsNewer"
                case .busy: "backupIsBusy"
                case .diskFull: "noSpaceForBackup"
                case .cannotOpen, .readOnly: "backupCannotBeRead"
                case .damaged, .foreign, .inputOutput, .other: "noBackup"
                }
            throw StoreError(error.kind, text, at: file, code: code)
        }
    }

    private static func schema(_ db: Database) throws -> [String] {
        try db.all(
            """
            SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_schema
            WHERE name NOT LIKE 'sqlite_%' ORDER BY 1
            """)
    }
}

/// Copies of a store in its directory.
enum StoreCopy {
    private static let unfinished = ".new"

    /// Copies the store with permissions for its owner only, and calls fsync. The caller holds the write lock. The copy
    /// has a temporary name until it is complete. An older copy is replaced.
    /// - Throws: `StoreError`. There is no copy then.
    static func write(_ store: String, to file: String) throws {
        let new = file + unfinished
        // This process has the write lock, so no other process is writing a copy.
        try remove(of: store, onlyUnfinished: true)
        let descriptor = open(new, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(file) }
        defer { close(descriptor) }
        do {
            let reader = try StoreOpening.connection(store, isReadOnly: true)
            try TrackerStore.convertingErrors(at: new) {
                try reader.writeWithoutTransaction { try $0.execute(sql: "VACUUM INTO ?", arguments: [new]) }
            }
            try reader.close()
            guard fsync(descriptor) == 0, rename(new, file) == 0 else { throw failure(file) }
        } catch {
            unlink(new)
            throw error
        }
    }

    private static func failure(_ file: String) -> StoreError {
        let reason = String(cString: strerror(errno))
        return StoreError(
            errno == ENOSPC ? .diskFull : .inputOutput, "Writing or deleting a copy of the store failed: \(reason)",
            at: file)
    }

    /// The copy of a store of 0.9 before its conversion: `STORE-schema-30`.
    static func beforeConversion(of store: String) -> String { "\(store)-schema-\(Schema.release09)" }

    /// An unused name for the replaced contents: `STORE-replaced-20261124T172437Z`, then with `-2`, `-3` …
    /// - Returns: `nil` for a store in memory.
    static func beforeRestore(of store: String, at now: Instant) -> String? {
        guard store != ":memory:" else { return nil }
        let wall = Zone.utc.wall(at: now).description.filter { $0 != "-" && $0 != ":" }
        let name = "\(store)-replaced-\(wall)Z"
        return ([name] + (2...).lazy.prefix(1000).map { "\(name)-\($0)" }).first { access($0, F_OK) != 0 }
    }

    /// Deletes the copies of a store, including incomplete ones of killed processes.
    static func remove(of store: String, onlyUnfinished: Bool = false) throws {
        let url = URL(fileURLWithPath: store)
        let folder = url.deletingLastPathComponent().path
        guard store != ":memory:", let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
            return
        }
        let pattern = /-(?:replaced-\d{8}T\d{6}Z(?:-\d+)?|schema-\d{1,4})(?:\.new)?(?:-wal|-shm|-journal)?/
        for name in names
        where name.hasPrefix(url.lastPathComponent) && (!onlyUnfinished || name.contains(unfinished)) {
            guard name.dropFirst(url.lastPathComponent.count).wholeMatch(of: pattern) != nil else { continue }
            guard unlink(folder + "/" + name) == 0 || onlyUnfinished || errno == EISDIR else {
                throw failure(folder + "/" + name)
            }
        }
    }
}
