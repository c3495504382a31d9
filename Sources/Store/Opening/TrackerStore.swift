import Foundation
import GRDB
import Synchronization
package import TrackerCore

/// The journal and the tracker's tables in one SQLite file (tracker spec, section 9).
///
/// Each write is a method and one transaction. The file is in WAL mode with `synchronous=FULL`: a completed write
/// survives `kill -9` and a power failure. Reads have their own connections and do not wait for writes. Several
/// processes can use the store; a write waits at most `StoreError.busySeconds`. Callers pass time and zone.
package struct TrackerStore: Sendable {
    package enum Access: Sendable {
        /// Reads and writes. Creates missing files and directories, and converts an older schema.
        case writing
        /// Reads only. Nothing is created, converted or changed, and every write throws. Also works for a store that
        /// cannot be written, for example on a full disk.
        case reading
    }

    /// The state of the file when the store was opened.
    package enum FileState: Hashable, Sendable {
        case store
        /// There is no file, or it is empty. Reads return the values of a new store.
        case nothing
        /// A store of 0.9. The next write converts it, and reads use a converted copy in memory.
        case older
    }

    /// The path as given; `":memory:"` for a store in memory.
    package let path: String
    package let access: Access
    package let fileState: FileState
    /// The names of settings that the conversion from 0.9 deleted.
    package let removedSettings: [String]
    let database: any DatabaseWriter
    /// The identities of the file and its WAL; `nil` for a store in memory or `Access.reading`.
    private let files: Files?
    private let shared: Shared
    /// A request that the next write executes once.
    var pendingRequest: IdempotentRequest?

    /// State that all copies of one open store share.
    private final class Shared: Sendable {
        let zone: Mutex<String?>
        let units = Mutex<AmountUnits?>(nil)
        let hasChanged = Mutex(false)
        let beforeStatement: (@Sendable (Database) -> Void)?
        /// A connection for `dataVersion`, opened at its first use.
        let observer = Mutex<DatabaseQueue?>(nil)

        init(_ zone: String?, _ beforeStatement: (@Sendable (Database) -> Void)?) {
            self.zone = Mutex(zone)
            self.beforeStatement = beforeStatement
        }
    }

    /// - Parameter hostZone: the IANA id for "system" in the settings.
    /// - Throws: `StoreError`. The file is unchanged then.
    package init(path: String, hostZone: String? = nil, for access: Access = .writing) throws {
        let opened =
            switch access {
            case .writing: try StoreOpening.forWriting(path, beforeStatement: nil)
            case .reading: try StoreOpening.forReading(path)
            }
        self.init(opened, path, hostZone, access)
    }

    /// Opens the store for writing.
    /// - Parameter beforeStatement: called before each SQL statement of a write, for fault injection in tests.
    init(path: String, hostZone: String?, beforeStatement: (@Sendable (Database) -> Void)?) throws {
        self.init(
            try StoreOpening.forWriting(path, beforeStatement: beforeStatement), path, hostZone, .writing,
            beforeStatement)
    }

    package init(inMemory hostZone: String?) throws {
        let opened = StoreOpening.Opened(database: try StoreOpening.inMemory(), fileState: .store)
        self.init(opened, ":memory:", hostZone, .writing)
    }

    private init(
        _ opened: StoreOpening.Opened, _ path: String, _ hostZone: String?, _ access: Access,
        _ beforeStatement: (@Sendable (Database) -> Void)? = nil
    ) {
        (self.path, self.access, shared) = (path, access, Shared(hostZone, beforeStatement))
        (database, fileState, removedSettings) = (opened.database, opened.fileState, opened.removedSettings)
        files = access == .writing && path != ":memory:" ? Files(path) : nil
    }

    /// The IANA id for "system" in the settings. If `nil`, each drink uses the time zone of its entry.
    package var hostZone: String? { shared.zone.withLock { $0 } }

    /// Sets `hostZone` after a change of the computer's time zone.
    package func setHostZone(_ zone: String?) { shared.zone.withLock { $0 = zone } }

    /// The default unit of amounts; `nil` for millilitres.
    package var defaultUnits: AmountUnits? {
        get { shared.units.withLock { $0 } }
        nonmutating set { shared.units.withLock { $0 = newValue } }
    }

    func dayCalendar(_ zone: Zone, _ db: Database) throws -> DayCalendar {
        DayCalendar(zone: zone, boundaryHour: try SettingTable.settings(db).boundaryHour)
    }

    // MARK: - Transactions

    /// Reads one consistent state without blocking writes.
    func read<T>(_ body: (Database) throws -> T) throws -> T { try reading { try database.read(body) } }

    /// Reads one consistent state on a separate connection, for exports, so that other reads do not wait.
    func readSeparately<T>(_ body: (Database) throws -> T) throws -> T {
        guard let pool = database as? DatabasePool else { return try read(body) }
        return try reading { try pool.makeSnapshot().read(body) }
    }

    /// Writes in one transaction, which is on disk when this returns.
    func write<T>(_ body: (Database) throws -> T) throws -> T {
        try writing {
            let result = try database.write { db in
                let before = db.totalChangesCount
                try pendingRequest?.store(db)
                let result = try body(db)
                if db.totalChangesCount > before { shared.hasChanged.withLock { $0 = true } }
                return result
            }
            pendingRequest?.isStored = true
            return result
        }
    }

    /// Writes without a transaction, for statements that cannot run in one, and for the caller's transactions.
    func writeWithoutTransaction<T>(_ body: (Database) throws -> T) throws -> T {
        try writing {
            shared.hasChanged.withLock { $0 = true }
            return try database.writeWithoutTransaction(body)
        }
    }

    /// Writes as `writeWithoutTransaction` does, but on a separate connection, for a write with a long preparation.
    func writeSeparately<T>(_ body: (Database) throws -> T) throws -> T {
        guard database is DatabasePool else { return try writeWithoutTransaction(body) }
        return try writing {
            shared.hasChanged.withLock { $0 = true }
            return try StoreOpening.connection(path, isReadOnly: false).writeWithoutTransaction { db in
                if let beforeStatement = shared.beforeStatement {
                    db.trace(options: .statement) { [unowned db] _ in beforeStatement(db) }
                }
                return try body(db)
            }
        }
    }

    private func reading<T>(_ body: () throws -> T) throws -> T {
        try requireSameFile()
        return try Self.convertingErrors(at: path, body)
    }

    private func writing<T>(_ body: () throws -> T) throws -> T {
        guard access == .writing else {
            throw StoreError(
                .readOnly, "The store was opened read-only, nothing was changed", at: path, code: "openedToLook")
        }
        let result = try reading(body)
        // A commit to a file that was deleted in the meantime is lost.
        try requireSameFile()
        return result
    }

    private struct Files: Hashable {
        let store, wal: FileIdentity?

        init(_ path: String) {
            (store, wal) = (FileIdentity(path), FileIdentity(StoreFile.target(of: path) + "-wal"))
        }
    }

    /// Checks that the path still leads to the files that were opened.
    /// - Throws: `StoreError` with the code `storeWasRemoved` if the file or its WAL was deleted or replaced. SQLite
    ///   would continue to write to the deleted file.
    package func requireSameFile() throws {
        guard let files, case let found = Files(path), found != files else { return }
        if found.store != nil, found.store != files.store, found.wal == files.wal { removeWAL() }
        throw StoreError(.cannotOpen, "Store file missing or replaced", at: path, code: "storeWasRemoved")
    }

    /// Moves the commits of the WAL to the file that was opened, and removes the WAL. SQLite would apply it to the new
    /// file.
    private func removeWAL() {
        guard (try? database.writeWithoutTransaction({ try $0.checkpoint(.truncate) })) != nil else { return }
        for suffix in ["-wal", "-shm"] { unlink(StoreFile.target(of: path) + suffix) }
    }

    /// Runs `body` and converts SQLite's errors to `StoreError`.
    static func convertingErrors<T>(at path: String, _ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw StoreError(error, at: path)
        } catch let value as RowDecodingError {
            // Omit the values of the row, which the error's text also contains.
            let problem = "\(value)".split(separator: ", row: ", maxSplits: 1).first.map(String.init) ?? ""
            throw StoreError(
                .damaged, "A value of the store has the wrong type (\(problem))", at: path, code: "unreadableRow")
        }
    }

    // MARK: - Changes

    /// Whether this open store has written data since it was opened.
    package func hasChanged() throws -> Bool { shared.hasChanged.withLock { $0 } }

    /// A value that changes with every write by any process. Does not wait for writers.
    package func dataVersion() throws -> DataVersion {
        try reading {
            guard database is DatabasePool else { return try database.unsafeRead(Self.currentVersion) }
            let observer = try shared.observer.withLock { observer in
                let opened = try observer ?? StoreOpening.connection(path, isReadOnly: true)
                observer = opened
                return opened
            }
            return try observer.unsafeRead(Self.currentVersion)
        }
    }

    private static func currentVersion(_ db: Database) throws -> DataVersion {
        DataVersion(ownChanges: db.totalChangesCount, others: try db.first("PRAGMA data_version") ?? 0)
    }

    /// Identifies a state of the store. If two values are equal, nothing was written in between.
    package struct DataVersion: Hashable, Sendable {
        /// The number of rows that the observing connection has changed. It writes only if the store is in memory.
        var ownChanges: Int
        /// SQLite's `data_version`, which changes with each commit of another connection.
        package var others: Int
    }

    // MARK: - Integrity

    /// The results of SQLite's integrity check, including rows that violate a constraint; empty if there are none.
    package func integrityProblems() throws -> [String] { try readSeparately(Self.integrityProblems) }

    static func integrityProblems(_ db: Database) throws -> [String] {
        try String.fetchAll(db, sql: "PRAGMA integrity_check").filter { $0 != "ok" }
            + Row.fetchAll(db, sql: "PRAGMA foreign_key_check").map {
                "a row of \((try? $0.decode(String.self, atIndex: 0)) ?? "?") refers to a missing row"
            }
    }

    package func rowCounts() throws -> [(table: String, rows: Int)] {
        try read { db in
            try Self.tables(db).map { ($0, try db.first("SELECT count(*) FROM \"\($0)\"") ?? 0) }
        }
    }

    /// All tables except those of SQLite and of the migrator.
    static func tables(_ db: Database) throws -> [String] {
        try db.all(
            """
            SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
            AND name <> 'grdb_migrations' ORDER BY name
            """)
    }
}
