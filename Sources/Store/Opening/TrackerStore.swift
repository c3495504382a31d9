import Foundation
import GRDB
import Synchronization
import TrackerCore

/// The journal and the tracker's tables in one SQLite file (tracker law Section 9).
///
/// Each write is a named method and one transaction. The file is in WAL mode with `synchronous=FULL`: what a method
/// returned from survives both `kill -9` and a power cut. Any number of processes may have the store open, and any may
/// be killed; a writer waits at most `StoreError.busySeconds` for another. The store reads no clock and no time zone:
/// callers pass both.
package struct TrackerStore: Sendable {
    /// What a store is opened for.
    package enum Access: Sendable {
        /// Everything. Creates file and folder where missing, and brings an older schema up to date.
        case writing
        /// Looking: nothing is created, migrated or changed, and every write throws. Also for a store that cannot be
        /// written: a full disk, a read-only one, somebody else's file.
        case looking
    }

    /// What was found where the store was to be.
    package enum Found: Hashable, Sendable {
        case store
        /// Nothing, or an empty file: it answers as a new store would.
        case nothing
        /// A store of 0.9, which the next write converts. It is read from a converted copy in memory.
        case older
    }

    /// The file's path as given; `":memory:"` for a store that nobody keeps.
    package let path: String
    /// The host's zone, for settings that say "system"; `nil` lets each drink use the zone it was resolved in.
    package var hostZone: String? { host.zone.withLock { $0 } }
    private let host: HostZoneBox
    /// The reminder engine's day that was decoded last.
    let engineDays = DecodedOnce<EngineDay>()
    /// What may be done with the file.
    package let access: Access
    /// What was found at opening. A store opened for writing is one from then on.
    package let found: Found
    /// The names of the removed settings that opening a store of 0.9 has deleted.
    package let removedSettings: [String]
    let database: DatabaseQueue
    /// The file that was opened; `nil` where nothing is written, or there is none.
    let place: StorePresence?
    /// What the next write is done for, where it must be done once only.
    var errand: Errand?

    /// Opens the store. One is enough for a process: settings that other programs change are seen through it.
    /// - Parameters:
    ///   - path: a file path.
    ///   - hostZone: IANA id that stands for "system" in the settings.
    /// - Throws: `StoreError`, after which the file is as it was.
    package init(path: String, hostZone: String? = nil, for access: Access = .writing) throws {
        self.path = path
        host = HostZoneBox(hostZone)
        self.access = access
        let opened =
            switch access {
            case .writing: try StoreOpening.toWrite(path, beforeStatement: nil)
            case .looking: try StoreOpening.toLook(path)
            }
        (database, found, removedSettings) = (opened.database, opened.found, opened.removedSettings)
        place = access == .writing ? StorePresence(path) : nil
    }

    /// For writing, telling before each SQL statement runs: where tests pull the plug.
    init(path: String, hostZone: String?, beforeStatement: (@Sendable (Database) -> Void)?) throws {
        self.path = path
        host = HostZoneBox(hostZone)
        let opened = try StoreOpening.toWrite(path, beforeStatement: beforeStatement)
        (access, found, database, removedSettings) = (.writing, .store, opened.database, opened.removedSettings)
        place = StorePresence(path)
    }

    /// A store in memory, for tests and for demonstrations that must leave nothing behind.
    package init(inMemory hostZone: String?) throws {
        path = ":memory:"
        host = HostZoneBox(hostZone)
        (access, found, removedSettings) = (.writing, .store, [])
        database = try StoreOpening.inMemory()
        place = nil
    }

    /// The host is in another zone now: drinks that are stored from here on are frozen in that one.
    package func travel(to zone: String?) { host.zone.withLock { $0 = zone } }

    /// In what amounts are shown where the store's own setting says nothing; `nil`: millilitres.
    package var usualUnits: AmountUnits? {
        get { host.units.withLock { $0 } }
        nonmutating set { host.units.withLock { $0 = newValue } }
    }

    /// The copies of one open store share it.
    private final class HostZoneBox: Sendable {
        let units = Mutex<AmountUnits?>(nil)
        let zone: Mutex<String?>
        init(_ zone: String?) { self.zone = Mutex(zone) }
    }

    /// Runs reads on one consistent state. Nothing stays of what a read might write.
    ///
    /// Not `DatabaseQueue.read`: its `PRAGMA query_only` makes SQLite prepare all statements of the connection anew,
    /// twice a read. Here the transaction is taken back instead, and who wrote in it is told.
    func read<T>(_ body: (Database) throws -> T) throws -> T {
        try checkPlace()
        return try Self.sentences(at: path) {
            try database.unsafeRead { db in
                let before = db.totalChangesCount
                try db.cachedStatement(sql: "BEGIN DEFERRED TRANSACTION").execute()
                let result = Result { try body(db) }
                let isWhole = db.isInsideTransaction
                if isWhole { try db.cachedStatement(sql: "ROLLBACK TRANSACTION").execute() }
                let value = try result.get()
                // A failure that the body passed over has ended the transaction: what came after it was of another
                // state.
                guard isWhole else {
                    throw DatabaseError(resultCode: .SQLITE_ABORT, message: "The read was broken off")
                }
                guard db.totalChangesCount == before else {
                    throw DatabaseError(resultCode: .SQLITE_READONLY, message: "A read wrote; it was taken back")
                }
                return value
            }
        }
    }

    /// Runs writes in one transaction: all or nothing, on the disk when this returns.
    func write<T>(_ body: (Database) throws -> T) throws -> T {
        try mustWrite()
        let result = try Self.sentences(at: path) {
            try database.write { db in
                try errand?.note(db)
                return try body(db)
            }
        }
        errand?.isNoted = true
        // A commit into a file that was removed meanwhile does not count as stored.
        try checkPlace()
        return result
    }

    /// Runs what SQLite does outside of transactions (vacuum, checkpoint).
    func writeWithoutTransaction<T>(_ body: (Database) throws -> T) throws -> T {
        try mustWrite()
        let result = try Self.sentences(at: path) { try database.writeWithoutTransaction(body) }
        try checkPlace()
        return result
    }

    /// - Throws: `StoreError` when the file that was opened was removed or replaced.
    package func checkPlace() throws {
        do {
            try place?.check(path)
        } catch {
            settleLog()
            throw error
        }
    }

    /// Moves the log's content into the file that was opened when another file has its path. SQLite would read the
    /// other file together with this log.
    private func settleLog() {
        guard let place, place.isReplaced(path),
            (try? database.writeWithoutTransaction({ db in try db.checkpoint(.truncate) })) != nil
        else { return }
        place.removeLog(path)
    }

    private func mustWrite() throws {
        guard access == .writing else {
            throw StoreError(
                .readOnly, "The store was opened to look only, nothing was changed", at: path, code: "openedToLook")
        }
        try checkPlace()
    }

    /// Whether anything was written through this store since it was opened.
    package func hasChanged() throws -> Bool { try read { $0.totalChangesCount > 0 } }

    /// Lets the file grow to so many pages at most: a full disk, for tests.
    func limitPages(to pages: Int) throws {
        try writeWithoutTransaction { db in _ = try Int.fetchOne(db, sql: "PRAGMA max_page_count = \(pages)") }
    }

    /// Turns SQLite's errors into `StoreError`.
    static func sentences<T>(at path: String, _ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw StoreError(error, at: path)
        } catch let row as UnreadableRow {
            throw StoreError(.damaged, "A row of the store cannot be read (\(row))", at: path, code: "unreadableRow")
        } catch let value as RowDecodingError {
            // What stands beside the value in its row is nobody else's.
            let told = "\(value)".split(separator: ", row: ", maxSplits: 1).first.map(String.init) ?? ""
            throw StoreError(
                .damaged, "A value of the store is of another kind than its column holds (\(told))", at: path,
                code: "unreadableRow")
        }
    }
}
