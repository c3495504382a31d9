import Foundation
import GRDB
import TrackerCore

/// The journal and the tracker's tables in one SQLite file (`tracker.md` section 9).
///
/// Each write is a named method and one transaction. The file is in WAL mode with `synchronous=FULL`: what a method
/// returned from survives both `kill -9` and a power cut. Several processes may have the store open; a writer waits at
/// most `busySeconds` for another. The store reads no clock and no time zone: callers pass both.
public struct TrackerStore: Sendable {
    /// How long a write waits for another process before it fails with `StoreError.Kind.busy`, in seconds.
    public static let busySeconds: Double = 5

    /// The file's path as given; `":memory:"` for a store that nobody keeps.
    public let path: String
    /// The host's zone, for settings that say "system"; `nil` lets each drink use the zone it was resolved in.
    public let hostZone: String?
    let database: DatabaseQueue

    /// Opens the store, creating file and directory where missing, and brings an older schema up to date.
    /// - Parameters:
    ///   - path: a file path.
    ///   - hostZone: IANA id that stands for "system" in the settings.
    ///   - readingSuffices: open a store that cannot be written, too; then every write throws.
    /// - Throws: `StoreError`, after which the file is as it was.
    public init(path: String, hostZone: String? = nil, readingSuffices: Bool = false) throws {
        do {
            try self.init(path: path, hostZone: hostZone, beforeStatement: nil)
        } catch let error as StoreError where readingSuffices && error.kind == .readOnly {
            self.init(
                path: path, hostZone: hostZone,
                database: try Self.sentences(at: path) { try Self.openReadOnly(path, orElse: error) })
        }
    }

    private init(path: String, hostZone: String?, database: DatabaseQueue) {
        self.path = path
        self.hostZone = hostZone
        self.database = database
    }

    /// As above, telling before each SQL statement runs: where tests pull the plug.
    init(path: String, hostZone: String?, beforeStatement: (@Sendable (Database) -> Void)?) throws {
        self.path = path
        self.hostZone = hostZone
        try Self.refuseImpossiblePlaces(path)
        database = try Self.sentences(at: path) { try Self.open(path, beforeStatement) }
        try Self.sentences(at: path) { try Schema.bringUpToDate(database, path: path) }
    }

    /// A store in memory, for tests and for demonstrations that must leave nothing behind.
    public init(inMemory hostZone: String?) throws {
        path = ":memory:"
        self.hostZone = hostZone
        database = try DatabaseQueue(configuration: Self.configuration(path: nil))
        try Schema.bringUpToDate(database, path: path)
    }

    /// Runs reads on one consistent state.
    func read<T>(_ body: (Database) throws -> T) throws -> T {
        try Self.sentences(at: path) { try database.read(body) }
    }

    /// Runs writes in one transaction: all or nothing, on the disk when this returns.
    func write<T>(_ body: (Database) throws -> T) throws -> T {
        try Self.sentences(at: path) { try database.write(body) }
    }

    /// Lets the file grow to so many pages at most: a full disk, for tests.
    func limitPages(to pages: Int) throws {
        try Self.sentences(at: path) {
            try database.writeWithoutTransaction { db in
                _ = try Int.fetchOne(db, sql: "PRAGMA max_page_count = \(pages)")
            }
        }
    }

    /// Turns SQLite's errors into `StoreError`.
    static func sentences<T>(at path: String, _ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw StoreError(error, at: path)
        }
    }

    // MARK: - Opening

    private static func configuration(
        path: String?, beforeStatement: (@Sendable (Database) -> Void)? = nil
    ) -> Configuration {
        var configuration = Configuration()
        configuration.label = "waterh.store"
        configuration.busyMode = .timeout(busySeconds)
        configuration.foreignKeysEnabled = true
        if let path {
            // Not `Configuration.journalMode`: that lowers `synchronous` to NORMAL, and then the last commits
            // before a power cut would be lost although `append` had returned (promise 1).
            configuration.prepareDatabase { db in
                // A database of somebody else, or from tomorrow, is refused before anything in it changes.
                _ = try Schema.version(db, path: path)
                _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL")
                try db.execute(sql: "PRAGMA synchronous = FULL")
                if let beforeStatement { db.trace(options: .statement) { [unowned db] _ in beforeStatement(db) } }
            }
        }
        return configuration
    }

    private static func open(
        _ path: String, _ beforeStatement: (@Sendable (Database) -> Void)?
    ) throws -> DatabaseQueue {
        // SQLite does not always call the busy handler while two processes create the same file: try again ourselves.
        let limit = ContinuousClock.now.advanced(by: .seconds(busySeconds))
        while true {
            do {
                return try DatabaseQueue(
                    path: path, configuration: configuration(path: path, beforeStatement: beforeStatement))
            } catch let error as DatabaseError
                where error.resultCode == .SQLITE_BUSY && ContinuousClock.now < limit
            {
                usleep(5_000)
            }
        }
    }

    /// Opens a file of today's schema that cannot be written; `problem` is thrown for any other.
    private static func openReadOnly(_ path: String, orElse problem: StoreError) throws -> DatabaseQueue {
        // What cannot be written has no log, unless another process keeps one: without it the file is all there is, and
        // SQLite may be told that nobody changes it.
        let hasLog = FileManager.default.fileExists(atPath: path + "-wal")
        let escaped = path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? path
        var configuration = Configuration()
        configuration.label = "waterh.store"
        configuration.readonly = true
        configuration.busyMode = .timeout(busySeconds)
        configuration.prepareDatabase { db in
            guard try Schema.version(db, path: path) == Schema.migrations.count else { throw problem }
        }
        return try DatabaseQueue(path: hasLog ? path : "file:\(escaped)?immutable=1", configuration: configuration)
    }

    /// What can be said before SQLite touches anything: a directory, a missing parent, a file of another kind.
    private static func refuseImpossiblePlaces(_ path: String) throws {
        let files = FileManager.default
        var isDirectory: ObjCBool = false
        if files.fileExists(atPath: path, isDirectory: &isDirectory) {
            if isDirectory.boolValue {
                throw StoreError(.cannotOpen, "The store's path is a directory", at: path,
                    advice: "Name a file, for example \(path.hasSuffix("/") ? path : path + "/")waterh.sqlite")
            }
            guard let handle = FileHandle(forReadingAtPath: path) else {
                throw StoreError(.cannotOpen, "The store cannot be read", at: path,
                    advice: "Check the permissions of the file, or name another with --store.")
            }
            defer { try? handle.close() }
            let head = (try? handle.read(upToCount: 16)) ?? Data()
            if !head.isEmpty, head != Data("SQLite format 3\0".utf8) {
                throw StoreError(.damaged, "The file is not a SQLite database", at: path,
                    advice: "Nothing in it was changed. Name another with --store, or move this file away.")
            }
            return
        }
        let parent = URL(fileURLWithPath: path).deletingLastPathComponent().path
        do {
            try files.createDirectory(atPath: parent, withIntermediateDirectories: true)
        } catch {
            throw StoreError(.cannotOpen, "The directory for the store cannot be made", at: parent,
                advice: "Make it yourself, or name a store elsewhere with --store.")
        }
    }
}
