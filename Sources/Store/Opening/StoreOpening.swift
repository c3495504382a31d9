import Foundation
import GRDB

/// The ways to a connection: one for writing, several for looking.
enum StoreOpening {
    /// An open store.
    struct Opened {
        var database: DatabaseQueue
        var found: TrackerStore.Found
        /// The names of the removed settings that the conversion of a store of 0.9 deleted.
        var removedSettings: [String] = []
    }

    /// Opens or creates the file and brings it up to date.
    static func toWrite(_ path: String, beforeStatement: (@Sendable (Database) -> Void)?) throws -> Opened {
        let file = try StoreFile(path)
        try file.refuseOtherNames(path)
        try file.make()
        // Before, so that the log is born with the file's rights: an empty file is nobody's yet. What another program
        // wrote keeps its rights.
        if file.isEmpty { file.tighten() }
        let opened = try TrackerStore.sentences(at: path) {
            try patiently {
                let database = try DatabaseQueue(
                    path: file.name, configuration: writing(path: path, beforeStatement: beforeStatement))
                let removed = try Schema.bringUpToDate(database, path: path) { try OlderStore.keep(file, path: path) }
                return Opened(database: database, found: .store, removedSettings: removed)
            }
        }
        // Now it is known to be a store: with what SQLite made beside it.
        file.tighten()
        return opened
    }

    /// Opens what is there and changes nothing, whatever that is.
    static func toLook(_ path: String) throws -> Opened {
        let file = try StoreFile(path)
        guard file.exists, !file.isEmpty || file.logBytes != nil else {
            return Opened(database: try inMemory(), found: .nothing)
        }
        var problem: (any Error)?
        for way in Way.allCases where way.fits(file) {
            do {
                let database = try TrackerStore.sentences(at: path) { try patiently { try way.open(file, path: path) } }
                return try TrackerStore.sentences(at: path) { try upToDate(database, path: path) }
            } catch let error as StoreError
                where [.readOnly, .diskFull, .cannotOpen, .inputOutput].contains(error.kind)
            {
                // Another way may do: what keeps SQLite from making its log does not keep it from reading.
                problem = problem ?? error
            }
        }
        throw problem
            ?? StoreError(
                .readOnly, "The store cannot be read without writing beside it", at: path, code: "logLeftBehind")
    }

    static func inMemory() throws -> DatabaseQueue {
        let database = try DatabaseQueue(configuration: basics())
        try Schema.bringUpToDate(database, path: ":memory:")
        return database
    }

    /// How a file can be read. Each leaves it, and what lies beside it, as it was.
    private enum Way: CaseIterable {
        /// Beside a log: a program has the store open, or was killed. Without the right to write, SQLite neither works
        /// the log into the file nor removes it.
        case besideLog
        /// Nobody has the store open. SQLite makes a log for its locks, in case somebody comes, and removes it at the
        /// end.
        case alone
        /// Nothing can be made beside the file, and there is no log with anything in it: the file is all there is.
        case immutable

        func fits(_ file: StoreFile) -> Bool {
            switch self {
            case .besideLog: file.logBytes != nil
            case .alone: file.logBytes == nil && file.takesWrites
            case .immutable: (file.logBytes ?? 0) == 0
            }
        }

        func open(_ file: StoreFile, path: String) throws -> DatabaseQueue {
            var configuration = StoreOpening.basics()
            configuration.readonly = self != .alone
            configuration.prepareDatabase { db in try StoreOpening.refuseForeign(db, path: path) }
            let name =
                switch self {
                case .besideLog: file.name
                case .alone: file.uri("mode=rw")
                case .immutable: file.uri("immutable=1")
                }
            return try DatabaseQueue(path: name, configuration: configuration)
        }
    }

    /// The database, or a converted copy in memory of a store of 0.9.
    private static func upToDate(_ database: DatabaseQueue, path: String) throws -> Opened {
        switch try database.read({ try Schema.state($0, path: path, checksTables: false) }) {
        case .current: return Opened(database: database, found: .store)
        case .empty: return Opened(database: try inMemory(), found: .nothing)
        case .release09:
            let copy = try DatabaseQueue(configuration: basics())
            try database.backup(to: copy)
            let removed = try Schema.bringUpToDate(copy, path: path)
            return Opened(database: copy, found: .older, removedSettings: removed)
        }
    }

    // MARK: - Configurations

    private static func basics() -> Configuration {
        var configuration = Configuration()
        configuration.label = "waterh.store"
        let patience = BusyWait()
        configuration.busyMode = .callback { patience.wait(tries: $0) }
        configuration.foreignKeysEnabled = true
        return configuration
    }

    private static func writing(path: String, beforeStatement: (@Sendable (Database) -> Void)?) -> Configuration {
        var configuration = basics()
        // Not `Configuration.journalMode`: that lowers `synchronous` to NORMAL, and then the last commits
        // before a power cut would be lost although `append` had returned (promise 1).
        configuration.prepareDatabase { db in
            try refuseForeign(db, path: path)
            // To its end: the answer comes before the change is on the disk, and what goes wrong then would be told to
            // nobody.
            guard try String.fetchAll(db, sql: "PRAGMA journal_mode = WAL") == ["wal"] else {
                throw StoreError(.cannotOpen, "The store cannot have a log beside it here", at: path)
            }
            try db.execute(sql: "PRAGMA synchronous = FULL")
            if let beforeStatement { db.trace(options: .statement) { [unowned db] _ in beforeStatement(db) } }
        }
        return configuration
    }

    /// A database of somebody else, or from tomorrow, is refused before anything in it changes. In one transaction:
    /// another process may be filling a new file meanwhile.
    private static func refuseForeign(_ db: Database, path: String) throws {
        try db.inTransaction(.deferred) {
            _ = try Schema.state(db, path: path)
            return .commit
        }
    }

    /// SQLite does not always call the busy handler while several processes create, open or leave the same file: tries
    /// again for as long as a write would wait.
    private static func patiently<Result>(_ body: () throws -> Result) throws -> Result {
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
