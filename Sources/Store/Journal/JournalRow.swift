import GRDB
import TrackerCore

/// A record as the journal holds it, for people who look after those without a date.
package struct JournalRow: Hashable, Sendable {
    /// The row's number.
    package var id: Int64
    /// What the bottle goes by now.
    package var bottle: String
    /// The bytes as received.
    package var raw: [UInt8]
    /// The wall clock that it was read to, where it was.
    package var wall: String?
    /// The record's amount as it was read.
    package var amountMl: Int
    /// `drink`, `notADrink`, `quarantined` or `superseded`.
    package var verdict: String
    /// Why it is not counted; `nil`: it is.
    package var reason: String?
    /// When it was received, by the clock of then.
    package var received: Instant
    /// How its bytes were read, `calendar/u16be`.
    package var reading: String?
    /// When it probably was, where that is known and the date is not believed.
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
        // By a clock that is not believed it is no news for people.
        about = reason == JournalDoubt.hostClock ? nil : try row.instantIfAny("about")
    }
}

extension TrackerStore {
    private static let rows = "SELECT r.*, b.name FROM bottle_record r JOIN bottle b ON b.id = r.bottle"

    /// Records that are kept and not counted, oldest first.
    package func doubtfulRecords(limit: Int = -1) throws -> [JournalRow] {
        try read { db in
            try Row.fetchAll(
                db, sql: "\(Self.rows) WHERE r.verdict = 'quarantined' ORDER BY r.id LIMIT ?", arguments: [limit]
            )
            .readable(JournalRow.init(row:))
        }
    }

    /// How many records are not counted, by reason.
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

    /// One record by its number; `nil`: there is none.
    package func journalRecord(_ id: Int64) throws -> JournalRow? {
        try read { db in
            try Row.fetchOne(db, sql: "\(Self.rows) WHERE r.id = ?", arguments: [id]).map(JournalRow.init(row:))
        }
    }

    /// The last time by a believed clock at which anything came from a bottle.
    package func newestReceipt() throws -> Instant? {
        try read { db in try BottleTable.memory(of: "", db).newestReceipt }
    }

    /// Dates a record by hand: it counts from now on, and no reading and no poll moves it any more.
    /// - Throws: `Refusal` where there is no such record, or it is none that waits for a date.
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
