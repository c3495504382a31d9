import GRDB
import TrackerCore

extension TrackerStore: Journal {
    /// Appends a batch in one transaction (promise 1: on the disk when this returns).
    ///
    /// Identity is bottle, wall time, amount and whether it is a drink (promise 2); a tombstone keeps its identity, so
    /// a deleted drink is a duplicate for ever. A record in quarantine is identified by its bytes, and a later
    /// delivery of the same bytes that could be dated promotes it.
    public func append(_ entries: [JournalEntry]) throws -> [JournalOutcome] {
        guard !entries.isEmpty else { return [] }
        return try write { db in
            var writer = try JournalWriter(db, hostZone: hostZone)
            let outcomes = try entries.map { try writer.append($0) }
            try refreshSummaries(with: zip(entries, outcomes), db)
            return outcomes
        }
    }

    /// Sips that arrive after a session's end still count in it (`tracker.md` X1).
    private func refreshSummaries(with batch: some Sequence<(JournalEntry, JournalOutcome)>, _ db: Database) throws {
        var instants: [Instant] = []
        var received = Instant(milliseconds: 0)
        for (entry, outcome) in batch where outcome != .duplicate {
            guard case .drink(let instant, _) = entry.verdict else { continue }
            instants.append(instant)
            received = max(received, entry.received)
        }
        // The identifiers are not needed: where there is a session, its user and device are known.
        let context = WriteContext(now: received, zone: .utc, source: "bottle", makeID: { "unknown" })
        try refreshSummaries(around: instants, context, db)
    }

    public func lastCompletePoll(of bottle: String) throws -> Instant? {
        try read { db in
            try Row.fetchAll(db, sql: """
                SELECT id, lastCompletePoll FROM bottle WHERE id = (SELECT bottle FROM bottle_name WHERE name = ?)
                """, arguments: [bottle]).readable { try $0.instantIfAny("lastCompletePoll") }.first ?? nil
        }
    }

    /// Remembers a poll's end. What the bottle did not tell leaves the earlier knowledge standing.
    public func finishPoll(_ report: PollRecord) throws {
        try write { db in
            let bottle = try BottleTable.identifier(of: report.bottle, db)
            try db.execute(sql: """
                UPDATE bottle SET advertisedName = coalesce(:name, advertisedName), model = coalesce(:model, model),
                    batteryPercent = coalesce(:battery, batteryPercent),
                    clockDriftSeconds = coalesce(:drift, clockDriftSeconds),
                    lastPoll = max(:ended, coalesce(lastPoll, :ended)),
                    lastCompletePoll = CASE WHEN :complete
                        THEN max(:ended, coalesce(lastCompletePoll, :ended)) ELSE lastCompletePoll END
                WHERE id = :bottle
                """, arguments: [
                    "name": report.name, "model": report.model, "battery": report.batteryPercent,
                    "drift": report.clockDriftSeconds, "ended": report.endedAt.milliseconds,
                    "complete": report.complete, "bottle": bottle,
                ])
        }
    }
}

/// One batch's way into the tables: prepared statements, and what the batch looked up once.
private struct JournalWriter {
    private let db: Database
    private let dayZone: String?
    private let boundaryHour: Int
    private var bottles: [String: (id: Int64, origin: String)] = [:]
    private var calendars: [String: DayCalendar] = [:]
    /// Whether a look into the quarantine can find anything: it is empty on nearly every store.
    private var hasQuarantine: Bool

    private let insertRecord: Statement
    private let insertDrink: Statement

    init(_ db: Database, hostZone: String?) throws {
        self.db = db
        dayZone = try String.fetchOne(db, sql: "SELECT value FROM setting WHERE name = 'day.zone'") ?? hostZone
        boundaryHour = try Int.fetchOne(
            db, sql: "SELECT CAST(value AS INTEGER) FROM setting WHERE name = 'day.boundaryHour'") ?? 4
        hasQuarantine = try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM bottle_record WHERE verdict = 'quarantined')") ?? false
        insertRecord = try db.cachedStatement(sql: """
            INSERT INTO bottle_record (bottle, raw, wall, amountMl, isDrink, verdict, reason, received)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
            """)
        insertDrink = try db.cachedStatement(sql: """
            INSERT INTO drink (key, instant, zone, localDay, ml, source, bottle, updatedAt)
            VALUES (?, ?, ?, ?, ?, 'bottle', ?, ?) ON CONFLICT DO NOTHING
            """)
    }

    mutating func append(_ entry: JournalEntry) throws -> JournalOutcome {
        let bottle = try known(entry.bottle)
        switch entry.verdict {
        case .quarantined(let reason):
            // A record that was accepted once is final (A2 rule 5): growing old does not bring it here.
            if let wall = entry.wall?.description, try isStored(bottle.id, wall, entry.amountMl) { return .duplicate }
            hasQuarantine = true
            return try insert(
                entry, bottle.id, wall: entry.wall?.description, isDrink: false, verdict: "quarantined", reason: reason)
                ? .stored : .duplicate
        case .notADrink(let reason):
            return try settle(entry, bottle.id, isDrink: false, verdict: "notADrink", reason: reason)
        case .drink(let instant, let zone):
            let outcome = try settle(entry, bottle.id, isDrink: true, verdict: "drink", reason: nil)
            guard outcome != .duplicate else { return .duplicate }
            let zone = dayZone ?? zone
            let day = try calendar(zone).day(of: instant).description
            // `Drink.bottleKey`, under the identity the bottle was first seen by: a new name changes no key.
            let key = "\(bottle.origin)|\(Self.identity(entry))|\(entry.amountMl)"
            try insertDrink.execute(arguments: [
                key, instant.milliseconds, zone, day, entry.amountMl, bottle.id, entry.received.milliseconds,
            ])
            return outcome
        }
    }

    /// A record with a date: new, known, or out of quarantine.
    private func settle(
        _ entry: JournalEntry, _ bottle: Int64, isDrink: Bool, verdict: String, reason: String?
    ) throws -> JournalOutcome {
        let waiting = hasQuarantine ? try quarantined(bottle, entry.raw) : nil
        guard let waiting else {
            return try insert(
                entry, bottle, wall: Self.identity(entry), isDrink: isDrink, verdict: verdict, reason: reason)
                ? .stored : .duplicate
        }
        let update = try db.cachedStatement(sql: """
            UPDATE OR IGNORE bottle_record SET wall = ?, amountMl = ?, isDrink = ?, verdict = ?, reason = ? WHERE id = ?
            """)
        try update.execute(arguments: [Self.identity(entry), entry.amountMl, isDrink, verdict, reason, waiting])
        if db.changesCount == 1 { return .promoted }
        // The same drink is stored already, from a delivery whose other bytes differed.
        try db.execute(sql: "UPDATE bottle_record SET verdict = 'superseded' WHERE id = ?", arguments: [waiting])
        return .duplicate
    }

    private func insert(
        _ entry: JournalEntry, _ bottle: Int64, wall: String?, isDrink: Bool, verdict: String, reason: String?
    ) throws -> Bool {
        try insertRecord.execute(arguments: [
            bottle, DatabaseValue(bytes: entry.raw), wall, entry.amountMl, isDrink, verdict, reason,
            entry.received.milliseconds,
        ])
        return db.changesCount == 1
    }

    /// The wall clock that identifies a record; the bytes where somebody counts a record without one.
    private static func identity(_ entry: JournalEntry) -> String {
        entry.wall?.description ?? entry.raw.map { String($0, radix: 16) }.joined(separator: " ")
    }

    private func isStored(_ bottle: Int64, _ wall: String, _ amountMl: Int) throws -> Bool {
        let statement = try db.cachedStatement(sql: """
            SELECT EXISTS (SELECT 1 FROM bottle_record WHERE bottle = ? AND wall = ? AND amountMl = ?
                AND isDrink IN (0, 1) AND verdict IN ('drink', 'notADrink'))
            """)
        return try Bool.fetchOne(statement, arguments: [bottle, wall, amountMl]) ?? false
    }

    private func quarantined(_ bottle: Int64, _ raw: [UInt8]) throws -> Int64? {
        let statement = try db.cachedStatement(
            sql: "SELECT id FROM bottle_record WHERE bottle = ? AND raw = ? AND verdict = 'quarantined'")
        return try Int64.fetchOne(statement, arguments: [bottle, DatabaseValue(bytes: raw)])
    }

    private mutating func calendar(_ zone: String) throws -> DayCalendar {
        if let calendar = calendars[zone] { return calendar }
        let calendar = DayCalendar(zone: try Zone(zone), boundaryHour: boundaryHour)
        calendars[zone] = calendar
        return calendar
    }

    private mutating func known(_ name: String) throws -> (id: Int64, origin: String) {
        if let bottle = bottles[name] { return bottle }
        let id = try BottleTable.identifier(of: name, db)
        let origin = try String.fetchOne(db, sql: "SELECT origin FROM bottle WHERE id = ?", arguments: [id]) ?? name
        bottles[name] = (id, origin)
        return (id, origin)
    }
}
