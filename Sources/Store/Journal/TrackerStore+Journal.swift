import GRDB
import TrackerCore

extension TrackerStore: Journal {
    /// Appends a batch in one transaction (promise 1: on the disk when this returns).
    ///
    /// A dated record's identity is the bottle, its first eight bytes and whether it is a drink (promise 2); a
    /// tombstone keeps its identity, so a deleted drink is a duplicate for ever. A record without a date is identified
    /// by all its bytes, and a later delivery of them that can be dated promotes it.
    package func append(_ entries: [JournalEntry]) throws -> [JournalOutcome] {
        guard !entries.isEmpty else { return [] }
        return try write { db in
            let (outcomes, writer) = try JournalWriter.write(db, hostZone: hostZone) { writer in
                try entries.map { try writer.append($0) }
            }
            if writer.hasRewritten { try Counter.add("drink.rewrites", 1, db) }
            try refreshSummaries(around: writer.touched, received: entries.map(\.received).max(), db)
            return outcomes
        }
    }

    /// Sips that arrive, or change, after a session's end still count in it (tracker law X1).
    func refreshSummaries(around instants: [Instant], received: Instant?, _ db: Database) throws {
        // The identifiers are not needed: where there is a session, its user and device are known.
        let context = WriteContext(
            now: received ?? Instant(milliseconds: 0), zone: .utc, source: "bottle", makeID: { "unknown" })
        try refreshSummaries(around: instants, context, db)
    }

    package func recall(_ names: BottleNames) throws -> BottleMemory {
        try read { db in try BottleTable.memory(of: names, db) }
    }

    package func adopt(_ names: BottleNames) throws {
        // Writes only where something is new: a bottle that is known must not wait for another process's write.
        let isDone = try read { db in
            guard try BottleTable.isKnown(names, db), let bottle = try BottleTable.known(names.identity, db) else {
                return false
            }
            return try BottleTable.isOwn(bottle, db)
        }
        guard !isDone else { return }
        try write { db in
            if names.wasOwn, let bottle = try BottleTable.known(names.identity, db), try !BottleTable.isOwn(bottle, db)
            {
                throw ReleasedBottle(names.identity)
            }
            try BottleTable.introduce(names, db)
            try BottleTable.setOwn(BottleTable.identifier(of: names.identity, db), db)
        }
    }

    package func isOwn(_ bottle: String) throws -> Bool {
        try read { db in try BottleTable.known(bottle, db).map { try BottleTable.isOwn($0, db) } ?? true }
    }

    package func likeness(of log: [[UInt8]], to bottle: String) throws -> LogLikeness {
        try read { db in
            guard let id = try BottleTable.known(bottle, db) else { return LogLikeness(known: 0) }
            let find = try db.cachedStatement(
                sql: "SELECT 1 FROM bottle_record WHERE bottle = ? AND substr(raw, 1, 8) = ? AND raw = ? LIMIT 1")
            let known = try log.count {
                try Int.fetchOne(
                    find, arguments: [id, DatabaseValue(bytes: Array($0.prefix(8))), DatabaseValue(bytes: $0)]) != nil
            }
            return LogLikeness(known: known, lastCompletePoll: try BottleTable.memory(of: bottle, db).lastCompletePoll)
        }
    }

    package func standing(of records: [[UInt8]], from bottle: String) throws -> [Instant?] {
        try checkPlace()
        return try read { db in
            guard let id = try BottleTable.known(bottle, db) else { return records.map { _ in nil } }
            // Records of one length, as a bottle's are, are one question: laid end to end here, and cut apart by
            // SQLite.
            guard let size = records.first?.count, size > 0, records.allSatisfy({ $0.count == size }) else {
                return try records.flatMap { try Self.standing(of: [$0], size: $0.count, bottle: id, db) }
            }
            return try Self.standing(of: records, size: size, bottle: id, db)
        }
    }

    private static func standing(of records: [[UInt8]], size: Int, bottle: Int64, _ db: Database) throws -> [Instant?] {
        let find = try db.cachedStatement(
            sql: """
                WITH RECURSIVE record (n, raw) AS (
                    SELECT 0, substr(:records, 1, :size)
                    UNION ALL SELECT n + 1, substr(:records, (n + 1) * :size + 1, :size) FROM record WHERE n + 1 < \
                :count
                )
                SELECT (SELECT received FROM bottle_record b WHERE b.bottle = :bottle AND substr(b.raw, 1, 8) = \
                substr(record.raw, 1, \(JournalEntry.identityLength))
                    AND (b.raw = record.raw OR b.isDrink = (substr(:flags, n + 1, 1) = x'01') AND b.verdict IN \
                ('drink', 'notADrink')) ORDER BY b.received LIMIT 1)
                FROM record ORDER BY n
                """)
        let flags: [UInt8] = records.map { JournalEntry.isFlaggedDrink($0) ? 1 : 0 }
        let received = try Int64?.fetchAll(
            find,
            arguments: [
                "records": DatabaseValue(bytes: Array(records.joined())), "size": size, "count": records.count,
                "bottle": bottle, "flags": DatabaseValue(bytes: flags),
            ])
        return received.map { $0.map(Instant.init(milliseconds:)) }
    }

    /// End of this bottle's last poll that read the whole log.
    package func lastCompletePoll(of bottle: String) throws -> Instant? {
        try read { db in try BottleTable.memory(of: bottle, db).lastCompletePoll }
    }

    package func unsettled(
        of bottle: String, reading: String, since: Int64?, openYears: Bool, ahead: Instant?, after id: Int64, limit: Int
    ) throws -> [UnsettledRecord] {
        try read { db in
            guard let number = try BottleTable.known(bottle, db) else { return [] }
            // There are none on nearly every store, and only then each row is asked for its drink.
            let hasAhead =
                try ahead.map { ahead in
                    try Bool.fetchOne(
                        try db.cachedStatement(
                            sql: """
                                SELECT EXISTS (SELECT 1 FROM drink WHERE instant > ? AND bottle = ? AND deleted = 0)
                                """),
                        arguments: [ahead.milliseconds, number])
                } == true
            // A range of an index each: most records are settled, and must not be looked through at each poll.
            let columns =
                """
                SELECT id, bottle, raw, received, reason, verdict, yearBoot, yearStart, about, wall, amountMl FROM \
                bottle_record
                """
            let isAhead = """
                EXISTS (SELECT 1 FROM drink JOIN bottle o ON o.id = :bottle
                    WHERE key = o.origin || '|' || wall || '|' || amountMl AND instant > :ahead AND deleted = 0)
                """
            // What cannot be is not asked for: SQLite needs longer to understand the whole question than to answer it.
            let openYear = """
                UNION ALL \(columns) WHERE bottle = :bottle AND id > :id AND id <= :since AND yearStart IS NOT NULL \
                AND reading IS :reading
                    AND verdict = 'drink' AND reason IS NOT 'byHand'
                UNION ALL \(columns) WHERE bottle = :bottle AND id > :id AND yearStart IS NOT NULL
                    AND verdict = 'quarantined' AND reason = 'bottleClock'
                """
            let aheadOfClock = """
                UNION ALL \(columns) WHERE bottle = :bottle AND id > :id AND id <= :since AND reading IS :reading
                    AND NOT (:open AND yearStart IS NOT NULL) AND verdict = 'drink' AND reason IS NOT 'byHand' AND \
                \(isAhead)
                """
            var arguments: [String: any DatabaseValueConvertible] = [
                "bottle": number, "id": id, "reading": reading, "limit": limit, "since": since ?? .max,
            ]
            if hasAhead, let ahead { (arguments["open"], arguments["ahead"]) = (openYears, ahead.milliseconds) }
            let rows = try Row.fetchAll(
                try db.cachedStatement(
                    sql: """
                        SELECT r.*, b.origin, \(hasAhead ? "r.verdict = 'drink' AND \(isAhead)" : "0") AS isAhead FROM (
                            \(columns) WHERE bottle = :bottle AND id > :id AND verdict = 'quarantined' AND reason IS \
                        NOT 'bottleClock'
                                AND NOT (reason IN ('impossibleDate', 'implausibleYear', 'refusedByDialect') AND \
                        reading IS :reading)
                            UNION ALL \(columns) WHERE bottle = :bottle AND id > :id AND reading < :reading
                                AND verdict IN ('drink', 'notADrink') AND reason IS NOT 'byHand'
                            UNION ALL \(columns) WHERE bottle = :bottle AND id > :id AND reading > :reading
                                AND verdict IN ('drink', 'notADrink') AND reason IS NOT 'byHand'
                            UNION ALL \(columns) WHERE id > max(:id, :since) AND bottle = :bottle AND reading IS \
                        :reading
                                AND verdict = 'drink' AND reason IS NOT 'byHand'
                            \(openYears ? openYear : "")
                            \(hasAhead ? aheadOfClock : "")
                        ) r JOIN bottle b ON b.id = r.bottle ORDER BY r.id LIMIT :limit
                        """), arguments: StatementArguments(arguments))
            return try rows.readable { row in
                let received = try row.instant("received")
                let clock = try row.checked("yearStart", Int64?.self).map {
                    ClockMark(wall: received, boot: try row.checked("yearBoot"), start: $0)
                }
                return UnsettledRecord(
                    id: try row.checked("id"), bottle: try row.checked("origin"), raw: row.bytes("raw"),
                    received: received,
                    doubt: try row.checked("verdict") == "quarantined" ? try row.checked("reason") : nil,
                    yearClock: clock,
                    about: try row.instantIfAny("about"), isAhead: try row.checked("isAhead"))
            }
        }
    }

    /// Remembers a poll's end. What the bottle did not tell leaves the earlier knowledge standing. The last clock that
    /// was believed is believed: a poll by one that was ahead must not outlast it.
    package func finishPoll(_ report: PollRecord) throws {
        try write { db in
            let bottle = try BottleTable.identifier(of: report.bottle, db)
            let ended = report.isClockDoubtful ? nil : report.endedAt.milliseconds
            try db.executeOften(
                sql: """
                    UPDATE bottle SET advertisedName = coalesce(:name, advertisedName), model = coalesce(:model, model),
                        batteryPercent = coalesce(:battery, batteryPercent),
                        clockDriftSeconds = coalesce(:drift, clockDriftSeconds),
                        lastPoll = coalesce(:ended, lastPoll),
                        agreedAt = coalesce(:agreed, agreedAt), agreedOffset = coalesce(:offset, agreedOffset),
                        lastCompletePoll = CASE WHEN :complete AND :ended IS NOT NULL THEN :ended
                            WHEN lastCompletePoll > :ended THEN NULL ELSE lastCompletePoll END
                    WHERE id = :bottle
                    """,
                arguments: [
                    "name": report.name, "model": report.model, "battery": report.batteryPercent,
                    "drift": report.clockDriftSeconds, "ended": ended,
                    "complete": report.complete, "bottle": bottle,
                    "agreed": report.agreement?.at.milliseconds, "offset": report.agreement?.zoneOffset,
                ])
            if let ended {
                try Counter.set(BottleTable.newestReceipt, Int(ended), db)
                try ClockMarks.setReceipt(report.clock, isWitnessed: report.isClockWitnessed, db)
            }
            if report.isBottleClockRight { try ClockMarks.forgetSettings(of: bottle, db) }
        }
    }

    package func noteClockSetting(of bottle: String, _ mark: ClockMark, wasNear: Bool) throws {
        try write { db in
            try ClockMarks.addSetting(mark, wasNear: wasNear, of: BottleTable.identifier(of: bottle, db), db)
        }
    }
}
