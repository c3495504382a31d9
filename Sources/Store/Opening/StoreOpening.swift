import Foundation
import GRDB
import Synchronization

enum StoreOpening {
    struct Opened {
        var database: any DatabaseWriter
        var fileState: TrackerStore.FileState
        var removedSettings: [String] = []
    }

    /// Opens or creates the file, and converts an older schema.
    static func forWriting(_ path: String, beforeStatement: (@Sendable (Database) -> Void)?) throws -> Opened {
        let file = try StoreFile(path)
        try file.rejectHardLinks(path)
        try file.create()
        // Restrict permissions before opening, because SQLite copies them to the WAL. Other files keep theirs.
        if file.isEmpty { file.restrictPermissions() }
        let opened = try TrackerStore.convertingErrors(at: path) {
            try retryingWhileBusy {
                let database = try DatabasePool(
                    path: file.name, configuration: writable(path: path, beforeStatement: beforeStatement))
                // `DatabasePool` sets `synchronous` to NORMAL, which does not sync each commit.
                try database.writeWithoutTransaction(syncEachCommit)
                let removed = try Schema.createOrConvert(database, path: path) {
                    try StoreCopy.write(file.name, to: StoreCopy.beforeConversion(of: path))
                }
                return Opened(database: database, fileState: .store, removedSettings: removed)
            }
        }
        // The file is a store, so also restrict the files that SQLite created.
        file.restrictPermissions()
        return opened
    }

    static func forReading(_ path: String) throws -> Opened {
        let file = try StoreFile(path)
        guard file.exists, !file.isEmpty || file.walBytes != nil else {
            return Opened(database: try inMemory(), fileState: .nothing)
        }
        var firstError: (any Error)?
        for mode in ReadMode.allCases where mode.canOpen(file) {
            do {
                let database = try TrackerStore.convertingErrors(at: path) {
                    try retryingWhileBusy { try mode.open(file, path: path) }
                }
                return try TrackerStore.convertingErrors(at: path) { try openCurrentSchema(database, path: path) }
            } catch let error as StoreError
                where [.readOnly, .diskFull, .cannotOpen, .inputOutput].contains(error.kind)
            {
                // The next mode might work, for example without a WAL.
                firstError = firstError ?? error
            }
        }
        throw firstError
            ?? StoreError(
                .readOnly, "The store cannot be read: SQLite cannot create its WAL next to it", at: path,
                code: "logLeftBehind")
    }

    /// Makes each commit durable before it returns. With NORMAL, a power failure loses the last commits.
    private static func syncEachCommit(_ db: Database) throws { try db.execute(sql: "PRAGMA synchronous = FULL") }

    static func connection(_ path: String, isReadOnly: Bool) throws -> DatabaseQueue {
        var configuration = baseConfiguration()
        configuration.readonly = isReadOnly
        if !isReadOnly { configuration.prepareDatabase(syncEachCommit) }
        return try DatabaseQueue(path: StoreFile(path).name, configuration: configuration)
    }

    static func inMemory() throws -> DatabaseQueue {
        let database = try DatabaseQueue(configuration: baseConfiguration())
        try Schema.createOrConvert(database, path: ":memory:")
        return database
    }

    /// A way to open a file for reading. The file and its WAL do not change.
    private enum ReadMode: CaseIterable {
        /// A program has the store open, or was killed: its WAL exists. A read-only connection does not change the WAL.
        case withWAL
        /// No program has the store open. SQLite creates a WAL for its locks and deletes it on closing.
        case withoutWAL
        /// No file can be created next to the store, and the WAL is empty or missing.
        case immutable

        func canOpen(_ file: StoreFile) -> Bool {
            switch self {
            case .withWAL: file.walBytes != nil
            case .withoutWAL: file.walBytes == nil && file.canCreateWAL
            case .immutable: (file.walBytes ?? 0) == 0
            }
        }

        func open(_ file: StoreFile, path: String) throws -> DatabaseQueue {
            var configuration = StoreOpening.baseConfiguration()
            configuration.readonly = self != .withoutWAL
            configuration.prepareDatabase { db in try StoreOpening.rejectOtherDatabases(db, path: path) }
            let name =
                switch self {
                case .withWAL: file.name
                case .withoutWAL: file.uri("mode=rw")
                case .immutable: file.uri("immutable=1")
                }
            return try DatabaseQueue(path: name, configuration: configuration)
        }
    }

    /// Returns the database, or a converted copy in memory of a store of 0.9.
    private static func openCurrentSchema(_ database: DatabaseQueue, path: String) throws -> Opened {
        switch try database.read({ try Schema.state($0, path: path, checksTables: false) }) {
        case .current: return Opened(database: database, fileState: .store)
        case .empty: return Opened(database: try inMemory(), fileState: .nothing)
        case .release09:
            let copy = try DatabaseQueue(configuration: baseConfiguration())
            try database.backup(to: copy)
            let removed = try Schema.createOrConvert(copy, path: path)
            return Opened(database: copy, fileState: .older, removedSettings: removed)
        }
    }

    // MARK: - Configurations

    private static func baseConfiguration() -> Configuration {
        var configuration = Configuration()
        configuration.label = "waterh.store"
        // SQLite's own handler waits up to 100 ms between attempts, and rarely succeeds next to a busy writer.
        let start = Mutex(ContinuousClock.now)
        configuration.busyMode = .callback { tries in
            if tries == 0 { start.withLock { $0 = .now } }
            usleep(5000)
            return start.withLock { .now - $0 } < .seconds(StoreError.busySeconds)
        }
        configuration.foreignKeysEnabled = true
        return configuration
    }

    private static func writable(path: String, beforeStatement: (@Sendable (Database) -> Void)?) -> Configuration {
        var configuration = baseConfiguration()
        configuration.prepareDatabase { db in
            guard !db.configuration.readonly else { return }
            try rejectOtherDatabases(db, path: path)
            // A statement with its triggers changes more pages than SQLite keeps of its statement journal in memory.
            try db.execute(sql: "PRAGMA temp_store = MEMORY")
            guard try String.fetchAll(db, sql: "PRAGMA journal_mode = WAL") == ["wal"] else {
                throw StoreError(.cannotOpen, "SQLite cannot create a WAL next to the store", at: path)
            }
            if let beforeStatement { db.trace(options: .statement) { [unowned db] _ in beforeStatement(db) } }
        }
        return configuration
    }

    /// Rejects the database of another program or of a newer version before any change. Uses one transaction, because
    /// another process can be creating the tables.
    private static func rejectOtherDatabases(_ db: Database, path: String) throws {
        try db.inTransaction(.deferred) {
            _ = try Schema.state(db, path: path)
            return .commit
        }
    }

    /// Retries while another process creates, opens or closes the file. SQLite might not call its busy handler then.
    private static func retryingWhileBusy<Result>(_ body: () throws -> Result) throws -> Result {
        let limit = ContinuousClock.now.advanced(by: .seconds(StoreError.busySeconds))
        while true {
            do {
                return try body()
            } catch let error as DatabaseError
                where [.SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_PROTOCOL].contains(error.resultCode)
                && ContinuousClock.now < limit
            {
                usleep(5_000)
            }
        }
    }
}
