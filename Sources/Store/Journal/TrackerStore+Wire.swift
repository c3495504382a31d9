import GRDB
import TrackerCore

/// What became of entries from another journal.
public struct WireOutcome: Hashable, Sendable {
    /// New here.
    public var added = 0
    /// Here already.
    public var known = 0

    public init() {}
}

/// The journal as it travels to another one, and comes from one.
extension TrackerStore {
    /// Hands out every record of every bottle in its wire form, in the order in which they came, as it is read: of one state of the store.
    /// - Parameter gateway: who received them.
    public func forEachWireEntry(gateway: String, _ body: (WireEntry) throws -> Void) throws {
        try read { db in
            let rows = try Row.fetchCursor(db, sql: """
                SELECT r.*, b.origin, d.instant, d.zone, coalesce(d.deleted, 0) AS isDeleted
                FROM bottle_record r JOIN bottle b ON b.id = r.bottle
                    LEFT JOIN drink d ON r.verdict = 'drink' AND d.key = b.origin || '|' || r.wall || '|' || r.amountMl
                WHERE r.verdict <> 'superseded' ORDER BY r.id
                """)
            while let row = try rows.next() {
                // Rows that no program of ours writes are left out, as everywhere; the doctor names them.
                guard let entry = try? WireEntry(row: row, gateway: gateway) else { continue }
                try body(entry)
            }
        }
    }

    /// Takes entries of another journal in, in one transaction: all, or none. What is known already adds nothing; what was deleted there does
    /// not count here. The bottles become known, and are not this store's own: they have answered another one.
    public func take(_ entries: [WireEntry]) throws -> WireOutcome {
        guard !entries.isEmpty else { return WireOutcome() }
        return try write { db in
            var writer = try JournalWriter(db, hostZone: hostZone)
            var outcome = WireOutcome()
            for entry in entries {
                guard try writer.append(entry.entry).isNew else {
                    outcome.known += 1
                    continue
                }
                outcome.added += 1
                if entry.isDeleted { try writer.bury(entry.entry) }
            }
            if writer.hasRewritten { try Counter.add("drink.rewrites", 1, db) }
            try refreshSummaries(around: writer.touched, received: entries.map(\.entry.received).max(), db)
            return outcome
        }
    }
}

extension WireEntry {
    fileprivate init(row: Row, gateway: String) throws {
        let reason: String? = try row.checked("reason")
        let verdict: JournalEntry.Verdict
        switch try row.checked("verdict") as String {
        case "drink": verdict = .drink(at: try row.instant("instant"), zone: try row.checked("zone"))
        case "notADrink": verdict = .notADrink(reason: reason ?? "flag")
        default: verdict = .quarantined(reason: reason ?? "unknown")
        }
        let wall: String? = try row.checked("wall")
        let entry = JournalEntry(
            bottle: try row.checked("origin"), raw: row.bytes("raw"), wall: wall.flatMap(WallTime.init), amountMl: try row.checked("amountMl"),
            received: try row.instant("received"), verdict: verdict, reading: try row.checked("reading"), about: try row.instantIfAny("about"))
        self.init(gateway: gateway, entry: entry, isDeleted: try row.checked("isDeleted"))
    }
}
