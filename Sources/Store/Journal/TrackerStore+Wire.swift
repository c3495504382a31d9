import GRDB
package import TrackerCore

extension TrackerStore {
    /// Passes every record of every bottle to `body` in order, from one consistent state.
    /// - Parameter gateway: the id of the receiving gateway.
    package func forEachWireEntry(gateway: String, _ body: (WireEntry) throws -> Void) throws {
        try readSeparately { db in
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT r.*, b.origin, d.instant, d.zone, coalesce(d.deleted, 0) AS isDeleted,
                        e.key AS editKey, e.ml AS editMl, e.instant AS editAt, e.zone AS editZone
                    FROM bottle_record r JOIN bottle b ON b.id = r.bottle
                        LEFT JOIN drink d ON r.verdict = 'drink'
                            AND d.key = b.origin || '|' || r.wall || '|' || r.amountMl
                        LEFT JOIN drink e ON d.deleted AND e.correctionOf = d.key AND e.deleted = 0
                    WHERE r.verdict <> 'superseded' AND (r.verdict <> 'drink' OR d.id IS NOT NULL) ORDER BY r.id
                    """)
            var names: [Int64: [String]] = [:]
            while let row = try rows.next() {
                let bottle: Int64 = try row.decode(forColumn: "bottle")
                if names[bottle] == nil { names[bottle] = try BottleTable.identities(of: bottle, db) }
                try body(WireEntry(row: row, names: names[bottle] ?? [], gateway: gateway))
            }
        }
    }

    /// Imports entries of another journal in one transaction: all or none. Known entries do not change. Deletions and
    /// corrections are imported. New bottles are known and not adopted.
    /// - Returns: the number of new entries.
    package func importEntries(_ entries: [WireEntry]) throws -> Int {
        guard !entries.isEmpty else { return 0 }
        return try write { db in
            var writer = try JournalWriter(db, hostZone: hostZone)
            let outcomes = try entries.map { try writer.importEntry($0) }
            try refreshSummaries(around: writer.changedInstants, received: entries.map(\.entry.received).max(), db)
            return outcomes.count(where: \.isNew)
        }
    }
}

extension WireEntry {
    fileprivate init(row: Row, names: [String], gateway: String) throws {
        let reason: String? = try row.decode(forColumn: "reason")
        let verdict: JournalEntry.Verdict =
            switch try row.decode(String.self, forColumn: "verdict") {
            case "drink":
                .drink(at: try row.decode(forColumn: "instant"), zone: try row.decode(forColumn: "zone"))
            case "notADrink": .notADrink(reason: reason ?? "flag")
            default: .quarantined(reason: reason ?? "unknown")
            }
        let wall: String? = try row.decode(forColumn: "wall")
        let origin: String = try row.decode(forColumn: "origin")
        var entry = JournalEntry(
            bottle: origin, raw: try row.bytes("raw"), wall: wall.flatMap(WallTime.init),
            amountMl: try row.decode(forColumn: "amountMl"), received: try row.decode(forColumn: "received"),
            verdict: verdict, reading: try row.decode(forColumn: "reading"), about: try row.decode(forColumn: "about"))
        if case .drink = verdict { entry.isDatedManually = reason == JournalWriter.byHand }
        // The time is by the clock of this host and is meaningless elsewhere.
        if verdict == .quarantined(reason: JournalQuarantine.hostClock) { entry.about = nil }
        let edit = try row.decode(String?.self, forColumn: "editKey").map { key in
            Edit(
                key: key, ml: try row.decode(forColumn: "editMl"), at: try row.decode(forColumn: "editAt"),
                zone: try row.decode(forColumn: "editZone"))
        }
        self.init(
            gateway: gateway, entry: entry, names: Array(names.filter { $0 != origin }.prefix(Self.namesLimit)),
            isDeleted: try row.decode(forColumn: "isDeleted"), edit: edit)
    }
}
