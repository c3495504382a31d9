import GRDB
package import TrackerCore

/// The bottles in range while the store owns none.
package struct InRangeBottles: Hashable, Sendable {
    /// The time of the first advertisement, by address.
    package var since: [String: Instant] = [:]
    package var hidden: Set<String> = []
    /// Whether the user was notified about a bottle to adopt.
    package var isNotified = false
}

/// The table `counter` has the rows `inRange.since.ADDRESS`, `inRange.hidden.ADDRESS` and `inRange.notified`. Adoption
/// deletes them.
extension TrackerStore {
    private static let (since, hidden, notified) = ("inRange.since.", "inRange.hidden.", "inRange.notified")

    package func inRangeBottles() throws -> InRangeBottles {
        try read { db in
            var bottles = InRangeBottles()
            for row in try Row.fetchAll(db, sql: "SELECT name, value FROM counter WHERE name LIKE 'inRange.%'") {
                let name: String = try row.decode(forColumn: "name")
                if name.hasPrefix(Self.since) {
                    bottles.since[String(name.dropFirst(Self.since.count))] = try row.decode(forColumn: "value")
                } else if name.hasPrefix(Self.hidden) {
                    bottles.hidden.insert(String(name.dropFirst(Self.hidden.count)))
                } else if name == Self.notified {
                    bottles.isNotified = true
                }
            }
            return bottles
        }
    }

    package func recordInRange(_ addresses: [String], at now: Instant) throws {
        try insertCounters(addresses.map { Self.since + $0 }, Int(now.milliseconds))
    }

    package func hideInRange(_ address: String) throws { try insertCounters([Self.hidden + address], 1) }

    package func recordInRangeNotified() throws { try insertCounters([Self.notified], 1) }

    static func deleteInRange(_ db: Database) throws { try db.run("DELETE FROM counter WHERE name LIKE 'inRange.%'") }

    private func insertCounters(_ names: [String], _ value: Int) throws {
        try write { db in
            for name in names {
                try db.run("INSERT OR IGNORE INTO counter (name, value) VALUES (?, ?)", [name, value])
            }
        }
    }
}
