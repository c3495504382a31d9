import GRDB
import TrackerCore

/// What the store remembers about the bottles in range while it has none of its own.
package struct InRangeNotes: Hashable, Sendable {
    /// When each bottle was first in range, by address.
    package var since: [String: Instant] = [:]
    /// The bottles that the user marked as not theirs.
    package var hidden: Set<String> = []
    /// The user was notified that a bottle waits for adoption.
    package var isNotified = false
}

/// Stored as numbers: `inRange.since.ADDRESS`, `inRange.hidden.ADDRESS`, `inRange.notified`. Adoption deletes them.
extension TrackerStore {
    private static let (since, hidden, notified) = ("inRange.since.", "inRange.hidden.", "inRange.notified")

    package func inRangeNotes() throws -> InRangeNotes {
        try read { db in
            var notes = InRangeNotes()
            for row in try Row.fetchAll(db, sql: "SELECT name, value FROM counter WHERE name LIKE 'inRange.%'") {
                let (name, value): (String, Int64) = (row["name"], row["value"])
                if name.hasPrefix(Self.since) {
                    notes.since[String(name.dropFirst(Self.since.count))] = Instant(milliseconds: value)
                } else if name.hasPrefix(Self.hidden) {
                    notes.hidden.insert(String(name.dropFirst(Self.hidden.count)))
                } else if name == Self.notified {
                    notes.isNotified = true
                }
            }
            return notes
        }
    }

    /// Notes bottles that are in range for the first time.
    package func noteInRange(_ addresses: [String], at now: Instant) throws {
        try noteOnce(addresses.map { Self.since + $0 }, Int(now.milliseconds))
    }

    /// Leaves a bottle out of the list of bottles in range.
    package func hideInRange(_ address: String) throws { try noteOnce([Self.hidden + address], 1) }

    package func noteInRangeNotified() throws { try noteOnce([Self.notified], 1) }

    static func forgetInRange(_ db: Database) throws {
        try db.execute(sql: "DELETE FROM counter WHERE name LIKE 'inRange.%'")
    }

    private func noteOnce(_ names: [String], _ value: Int) throws {
        try write { db in
            for name in names {
                try db.execute(
                    sql: "INSERT INTO counter (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING",
                    arguments: [name, value])
            }
        }
    }
}
