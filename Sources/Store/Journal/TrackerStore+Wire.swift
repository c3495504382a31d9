import GRDB
import TrackerCore

package struct WireOutcome: Hashable, Sendable {
    package var added = 0
    package var known = 0

    package init() {}
}

extension TrackerStore {
    /// Passes every record of every bottle to `body` in order, from one consistent state.
    /// - Parameter gateway: the id of the receiving gateway.
    package func forEachWireEntry(gateway: String, _ body: (WireEntry) throws -> Void) throws {
        try readAtLength { db in
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT r.*, b.origin, d.instant, d.zone, coalesce(d.deleted, 0) AS isDeleted, e.key AS editKey,
                    e.ml AS editMl, e.instant AS editAt, e.zone AS editZone FROM bottle_record r JOIN bottle b ON b.id
                    = r.bottle LEFT JOIN drink d ON r.verdict = 'drink' AND d.key = b.origin || '|' || r.wall || '|'
                    || r.amountMl LEFT JOIN drink e ON d.deleted AND e.instead = d.key AND e.deleted = 0 WHERE
                    r.verdict <> 'superseded' ORDER BY r.id
                    """)
            var names: [Int64: [String]] = [:]
            while let row = try rows.next() {
                guard let bottle = try? row.checked("bottle", Int64.self) else { continue }
                if names[bottle] == nil { names[bottle] = try BottleTable.identities(of: bottle, db) }
                // Skip invalid rows. `doctor` reports them.
                guard let entry = try? WireEntry(row: row, names: names[bottle] ?? [], gateway: gateway) else {
                    continue
                }
                try body(entry)
            }
        }
    }

    /// Imports entries of another journal in one transaction: all or none. Known entries do not change. Deletions and
    /// corrections are imported. New bottles are known and not adopted.
    package func take(_ entries: [WireEntry]) throws -> WireOutcome {
        guard !entries.isEmpty else { return WireOutcome() }
        return try write { db in
            var outcome = WireOutcome()
            let (_, writer) = try JournalWriter.write(db, hostZone: hostZone) { writer in
                for entry in entries {
                    if try writer.take(entry).isNew { outcome.added += 1 } else { outcome.known += 1 }
                }
            }
            try refreshSummaries(around: writer.touched, received: entries.map(\.entry.received).max(), db)
            return outcome
        }
    }
}

extension WireEntry {
    fileprivate init(row: Row, names: [String], gateway: String) throws {
        let reason: String? = try row.checked("reason")
        let verdict: JournalEntry.Verdict
        switch try row.checked("verdict") as String {
        case "drink": verdict = .drink(at: try row.instant("instant"), zone: try row.checked("zone"))
        case "notADrink": verdict = .notADrink(reason: reason ?? "flag")
        default: verdict = .quarantined(reason: reason ?? "unknown")
        }
        let wall: String? = try row.checked("wall")
        let origin: String = try row.checked("origin")
        var entry = JournalEntry(
            bottle: origin, raw: row.bytes("raw"), wall: wall.flatMap(WallTime.init),
            amountMl: try row.checked("amountMl"),
            received: try row.instant("received"), verdict: verdict, reading: try row.checked("reading"),
            about: try row.instantIfAny("about"))
        if case .drink = verdict { entry.isByHand = reason == JournalWriter.byHand }
        // The time is by the clock of this host and is meaningless elsewhere.
        if verdict == .quarantined(reason: JournalDoubt.hostClock) { entry.about = nil }
        let edit: Edit? =
            if let key = try row.checked("editKey") as String? {
                Edit(
                    key: key, ml: try row.checked("editMl"), at: try row.instant("editAt"),
                    zone: try row.checked("editZone"))
            } else { nil }
        self.init(
            gateway: gateway, entry: entry, names: Array(names.filter { $0 != origin }.prefix(Self.namesLimit)),
            isDeleted: try row.checked("isDeleted"), edit: edit)
    }
}
