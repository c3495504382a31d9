package import Foundation
import GRDB
package import TrackerCore

/// A record of the journal, for the subcommands about quarantine.
package struct JournalRow: Hashable, Sendable, Decodable, FetchableRecord {
    package var id: Int64
    /// The current name of the bottle that wrote the record.
    package var bottle: String
    package var raw: Data
    /// The decoded wall-clock time, if valid.
    package var wall: String?
    package var amountMl: Int
    /// The verdict: `drink`, `notADrink`, `quarantined` or `superseded`.
    package var verdict: String
    /// The reason for quarantine; `nil` if the record counts.
    package var reason: String?
    /// The time of receipt by the host's clock.
    package var received: Instant
    /// The dialect and amount width, for example `calendar/u16be`.
    package var reading: String?
    /// The estimated time of a record whose date is not trusted; `nil` if the host's clock was not trusted either.
    package var about: Instant?
}

/// The number of quarantined records with one reason.
package struct QuarantineCount: Hashable, Sendable, Decodable, FetchableRecord {
    package var reason: String
    package var count: Int
}

extension TrackerStore {
    private static let select = """
        SELECT r.id, b.name AS bottle, raw, wall, amountMl, verdict, reason, received, reading,
            iif(reason IS 'hostClock', NULL, about) AS about, b.origin, b.id AS owner
        FROM bottle_record r JOIN bottle b ON b.id = r.bottle
        """

    /// Quarantined records, oldest first.
    package func quarantinedRecords(limit: Int = -1) throws -> [JournalRow] {
        try all("\(Self.select) WHERE r.verdict = 'quarantined' ORDER BY r.id LIMIT ?", [limit])
    }

    /// The number of quarantined records by reason.
    package func quarantineReasons() throws -> [QuarantineCount] {
        try all(
            """
            SELECT coalesce(r.reason, 'unknown') AS reason, count(*) AS count FROM bottle_record r
            WHERE r.verdict = 'quarantined' GROUP BY r.reason ORDER BY count DESC, r.reason
            """)
    }

    package func journalRecord(_ id: Int64) throws -> JournalRow? {
        try first("\(Self.select) WHERE r.id = ?", [id])
    }

    /// The time of the last receipt by a trusted clock.
    package func newestReceipt() throws -> Instant? {
        try read { db in
            let counter = Int64(try Counter.value(BottleTable.newestReceipt, db))
            guard counter == 0 else { return Instant(milliseconds: counter) }
            return try Instant.fetchOne(db, sql: "SELECT max(lastPoll) FROM bottle")
        }
    }

    /// Dates a record manually: it counts from then on, and no poll changes it.
    /// - Throws: `Refusal` if there is no such record, or if it is not quarantined.
    package func dateRecord(_ id: Int64, at instant: Instant, _ context: WriteContext) throws -> StoredDrink {
        try Self.check(instant: instant, now: context.now, in: context.zone)
        return try write { db in
            guard let row = try Row.fetchOne(db, sql: "\(Self.select) WHERE r.id = ?", arguments: [id]) else {
                throw Refusal(
                    "noSuchRecord", "There is no record r\(id).", category: .notFound, values: ["given": "r\(id)"])
            }
            let record = try JournalRow(row: row)
            guard record.verdict == "quarantined" else {
                throw Refusal("recordIsDated", "r\(id) is not quarantined: its verdict is \(record.verdict).")
            }
            guard record.raw.count > 12, record.raw[12] == 0, record.amountMl > 0 else {
                throw Refusal(
                    "recordIsNoDrink",
                    """
                    r\(id) is not a drink: it has \(record.amountMl) \
                    ml\(record.raw.last == 0 ? "" : " and the bookkeeping flag").
                    """
                )
            }
            // The key contains the bytes, because another record can have the same wall-clock time.
            let name = record.raw.map { String($0, radix: 16) }.joined(separator: " ")
            let key = Drink.bottleKey(
                bottle: try row.decode(forColumn: "origin"), wall: name, amountMl: record.amountMl)
            try db.run(
                "UPDATE bottle_record SET verdict = 'drink', reason = 'byHand', isDrink = 1, wall = ? WHERE id = ?",
                [name, id])
            try db.run(
                """
                INSERT INTO drink (key, instant, zone, localDay, ml, source, bottle, updatedAt)
                VALUES (?, ?, ?, ?, ?, 'bottle', ?, ?)
                ON CONFLICT (key) DO UPDATE SET bottle = excluded.bottle
                """,
                [
                    key, instant, context.zone.id, try dayCalendar(context.zone, db).day(of: instant), record.amountMl,
                    try row.decode(Int64.self, forColumn: "owner"), context.now,
                ])
            try refreshSummaries(around: [instant], received: context.now, db)
            // An import might have added the drink, and the user might have changed it since.
            let found: StoredDrink? = try db.first(
                "SELECT \(StoredDrink.columns) FROM drink WHERE (key = ? OR correctionOf = ?) AND deleted = 0",
                [key, key])
            guard let found else {
                throw Refusal("recordIsDeleted", "setting the date failed: the drink of r\(id) was deleted.")
            }
            return found
        }
    }
}
