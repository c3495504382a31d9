import Cryptography
import GRDB
import Synchronization
import TrackerCore

/// One thing that a client wants done once, however often it asks: a tap that is sent again because its answer was
/// lost.
///
/// The first write of a store that runs an errand notes its key in the same transaction. So either both are on the disk
/// or neither, and nobody does it twice: not after a crash, and not from two processes at once.
package final class Errand: Sendable {
    /// So many are remembered; the oldest go first.
    static let limit = 5000

    /// The client's own name for what it asks, for example a UUID.
    package let key: String
    /// Of what is asked.
    package let fingerprint: String
    let now: Instant
    private let noted = Mutex(false)

    /// - Parameter what: all that is asked, as bytes.
    package init(key: String, asking what: some Sequence<UInt8>, at now: Instant) {
        self.key = key
        fingerprint = SHA256.hex(what)
        self.now = now
    }

    /// It was done before.
    package struct Repeated: Error, Hashable {}

    /// Whether a write was made for it.
    package internal(set) var isNoted: Bool {
        get { noted.withLock { $0 } }
        set { noted.withLock { $0 = newValue } }
    }

    func note(_ db: Database) throws {
        guard !isNoted else { return }
        try db.execute(
            sql: "INSERT INTO request (key, fingerprint, at) VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING",
            arguments: [key, fingerprint, now.milliseconds])
        guard db.changesCount == 1 else { throw Repeated() }
        try db.execute(sql: "DELETE FROM request WHERE seq <= ?", arguments: [db.lastInsertedRowID - Int64(Self.limit)])
    }
}
