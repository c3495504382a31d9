import GRDB
import TrackerCore

/// A record of the journal, for the commands about quarantined records.
package struct JournalRow: Hashable, Sendable {
    /// The row number.
    package var id: Int64
    /// The current name of its bottle.
    package var bottle: String
    /// The received bytes.
    package var raw: [UInt8]
    /// The decoded wall-clock time, if there is one.
    package var wall: String?
    /// The decoded amount.
    package var amountMl: Int
    /// `drink`, `notADrink`, `quarantined` or `superseded`.
    package var verdict: String
    /// The reason why it does not count; `nil` if it does.
    package var reason: String?
    /// The time of receipt by the clock of that moment.
    package var received: Instant
    /// The interpretation: `calendar/u16be`.
    package var reading: String?
    /// The probable time, if the date is implausible.
    package var about: Instant?

    /// - Throws: `UnreadableRow`.
    init(row: Row) throws {
        id = try row.checked("id")
        bottle = try row.checked("name")
        raw = row.bytes("raw")
        wall = try row.checked("wall")
        amountMl = try row.checked("amountMl")
        verdict = try row.checked("verdict")
        reason = try row.checked("reason")
        received = try row.instant("received")
        reading = try row.checked("reading")
        // The time by an untrusted clock is not shown.
        about = reason == JournalDoubt.hostClock ? nil : try row.instantIfAny("about")
    }
}

extension TrackerStore {
    private static let rows = "SELECT r.*, b.name FROM bottle_record r JOIN bottle b ON b.id = r.bottle"

    /// Quarantined records, oldest first.
    package func doubtfulRecords(limit: Int = -1) throws -> [JournalRow] {
        try read { db in
            try Row.fetchAll(
                db, sql: "\(Self.rows) WHERE r.verdict = 'quarantined' ORDER BY r.id LIMIT ?", arguments: [limit]
            )
            .readable(JournalRow.init(row:))
        }
    }

    /// The number of uncounted records by reason.
    package func doubts() throws -> [(reason: String, count: Int)] {
        try read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT coalesce(reason, 'unknown') AS reason, count(*) AS count FROM bottle_record
                    WHERE verdict = 'quarantined' GROUP BY reason ORDER BY count DESC, reason
                    """
            ).map { (try $0.checked("reason"), try $0.checked("count")) }
        }
    }

    /// A record by its number, or `nil`.
    package func journalRecord(_ id: Int64) throws -> JournalRow? {
        try read { db in
            try Row.fetchOne(db, sql: "\(Self.rows) WHERE r.id = ?", arguments: [id]).map(JournalRow.init(row:))
        }
    }

    /// The last time of receipt by a trusted clock.
    package func newestReceipt() throws -> Instant? {
        try read { db in try BottleTable.memory(of: "", db).newestReceipt }
    }

    /// Dates a record manually: it counts from then on, and no poll changes it.
    /// - Throws: `Refusal` if there is no such record, or if it is not quarantined.
    package func dateRecord(_ id: Int64, at instant: Instant, _ context: WriteContext) throws -> StoredDrink {
        try Self.refuse(instant: instant, now: context.now, in: context.zone)
        return try write { db in
            guard
                let row = try Row.fetchOne(
                    db,
                    sql: """
                        SELECT r.*, b.name, b.origin FROM bottle_record r JOIN bottle b ON b.id = r.bottle WHERE r.id \
                        = ?
                        """, arguments: [id])
            else {
                throw Refusal(
                    "noSuchRecord", "There is no record r\(id).", category: .notFound, values: ["given": "r\(id)"])
            }
            let record = try JournalRow(row: row)
            guard record.verdict == "quarantined" else {
                throw Refusal("recordIsDated", "r\(id) does not wait for a date (it is \(record.verdict)).")
            }
            guard record.raw.count > 12, record.raw[12] == 0, record.amountMl > 0 else {
                throw Refusal(
                    "recordIsNoDrink",
                    """
                    r\(id) is no drink: it has \(record.amountMl) \
                    ml\(record.raw.last == 0 ? "" : " and the flag of bookkeeping").
                    """
                )
            }
            // Its own bytes are in its key: no wall clock that another record may have.
            let name = record.raw.map { String($0, radix: 16) }.joined(separator: " ")
            let key = Drink.bottleKey(bottle: try row.checked("origin"), wall: name, amountMl: record.amountMl)
            try db.execute(
                sql:
                    "UPDATE bottle_record SET verdict = 'drink', reason = 'byHand', isDrink = 1, wall = ? WHERE id = ?",
                arguments: [name, id])
            let day = try dayCalendar(context.zone, db).day(of: instant)
            try db.execute(
                sql: """
                    INSERT INTO drink (key, instant, zone, localDay, ml, source, bottle, updatedAt)
                    VALUES (?, ?, ?, ?, ?, 'bottle', ?, ?)
                    ON CONFLICT (key) DO UPDATE SET bottle = excluded.bottle
                    """,
                arguments: [
                    key,
                    instant.milliseconds, context.zone.id, day.description,
                    record.amountMl, try row.checked("bottle", Int64.self), context.now.milliseconds,
                ])
            try refreshSummaries(around: [instant], received: context.now, db)
            // An import may have brought the drink, which a person may have corrected or deleted since.
            let found = try Row.fetchOne(
                db,
                sql: """
                    SELECT \(StoredDrink.columns) FROM drink WHERE (key = ? OR instead = ?) AND deleted = 0
                    """, arguments: [key, key])
            guard let found else {
                throw Refusal("recordIsDeleted", "setting the date failed: the drink of r\(id) was deleted.")
            }
            return try StoredDrink(row: found)
        }
    }
}
