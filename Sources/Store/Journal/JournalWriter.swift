import Foundation
import GRDB
import TrackerCore

/// Writes journal entries in one transaction, with cached lookups.
struct JournalWriter {
    /// The instants of new or changed drinks.
    private(set) var changedInstants: [Instant] = []

    private let db: Database
    private let dayZone: String?
    private let boundaryHour: Int
    private var bottles: [String: Bottle] = [:]
    private var localNames: [[String]: [String]] = [:]
    private var calendars: [String: DayCalendar] = [:]

    /// Whether the store has quarantined records, or drinks of other programs: most stores do not, and need no lookups.
    private var hasQuarantined: Bool
    private let hasSamples: Bool
    // Prepared once, because each record of each poll uses them.
    private let findDated: Statement
    private let findReading: Statement
    private let insertRecord: Statement
    private let insertDrink: Statement
    private let advancePosition: Statement

    private typealias Bottle = (id: Int64, origin: String)

    init(_ db: Database, hostZone: String?) throws {
        self.db = db
        let settings = try SettingTable.settings(db)
        (dayZone, boundaryHour) = (settings.dayZone ?? hostZone, settings.boundaryHour)
        hasQuarantined = try db.has("FROM bottle_record WHERE verdict = 'quarantined'")
        hasSamples = try db.has("FROM drink WHERE key GLOB 'health|*'")
        findDated = try db.cachedStatement(
            sql: """
                SELECT id FROM bottle_record
                WHERE bottle = ? AND substr(raw, 1, 8) = ? AND isDrink = ? AND verdict IN ('drink', 'notADrink')
                """)
        findReading = try db.cachedStatement(sql: "SELECT reading FROM bottle_record WHERE id = ?")
        insertRecord = try db.cachedStatement(
            sql: """
                INSERT INTO bottle_record
                    (bottle, raw, wall, amountMl, isDrink, verdict, reason, received, reading, about)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        insertDrink = try db.cachedStatement(
            sql: """
                INSERT INTO drink (key, instant, zone, localDay, ml, source, bottle, updatedAt, firstPosition, position)
                VALUES (?, ?, ?, ?, ?, 'bottle', ?, ?, \(DrinkPositions.next), \(DrinkPositions.next))
                ON CONFLICT DO NOTHING
                """)
        advancePosition = try db.cachedStatement(sql: DrinkPositions.advance)
    }

    mutating func append(_ entry: JournalEntry) throws -> JournalOutcome { try add(entry, keepsZone: false).outcome }

    /// Stores an entry, and its drink if it counts.
    /// - Parameter keepsZone: whether a drink keeps the time zone of its entry, and with it its day.
    private mutating func add(_ entry: JournalEntry, keepsZone: Bool) throws -> (
        outcome: JournalOutcome, hasAddedDrink: Bool
    ) {
        let bottle = try bottle(entry.bottle)
        if let id = try datedID(entry, of: bottle.id) {
            // An accepted record is final (A2 rule 5), even if it is now too old or invalid in another dialect.
            let row = try rowToDecodeAgain(id, entry)
            if case .quarantined = entry.verdict {
                if let row { try storeReading(entry, of: row) }
            } else {
                if let row { try applyDecoding(of: entry, to: row, bottle) }
                try supersede(entry.raw, bottle.id)
            }
            return (.duplicate, false)
        }
        let undated = try undatedRow(bottle.id, entry.raw)
        if case .quarantined(let reason) = entry.verdict {
            guard let undated else {
                try insert(entry, bottle.id)
                return (.stored, false)
            }
            try update(undated, entry, reason)
            return (.waiting, false)
        }
        if let undated { try storeDate(of: undated, entry) } else { try insert(entry, bottle.id) }
        return (undated == nil ? .stored : .promoted, try addDrink(entry, bottle, keepsZone: keepsZone))
    }

    private mutating func insert(_ entry: JournalEntry, _ bottle: Int64) throws {
        let (verdict, reason) = Self.columns(entry)
        try insertRecord.run(
            bottle, Data(entry.raw), verdict == "quarantined" ? entry.wall?.description : Self.wall(entry),
            entry.amountMl, entry.isFlaggedDrink, verdict, reason, entry.received, entry.reading, entry.about)
        hasQuarantined = hasQuarantined || verdict == "quarantined"
    }

    // MARK: - Records without a date

    private func undatedRow(_ bottle: Int64, _ raw: [UInt8]) throws -> Int64? {
        guard hasQuarantined else { return nil }
        return try db.first(
            "SELECT id FROM bottle_record WHERE bottle = ? AND raw = ? AND verdict = 'quarantined'",
            [bottle, Data(raw)])
    }

    /// Replaces the time of receipt if an untrusted clock or a fragment gave it. A record with a wrong date of the
    /// bottle stays quarantined. A record that was received completely does not become a fragment, and one with another
    /// reason does not wait for a trusted clock again.
    private func update(_ row: Int64, _ entry: JournalEntry, _ reason: String) throws {
        try db.run(
            """
            UPDATE bottle_record SET reason = :reason, reading = :reading, wall = :wall, amountMl = :ml,
                about = :about, received = iif(reason IN ('hostClock', :pieced), :received, received)
            WHERE id = :id AND reason IS NOT 'bottleClock' AND (:reason IS NOT :pieced OR reason IS :pieced)
                AND (:reason IS NOT 'hostClock' OR reason IN ('hostClock', :pieced))
                AND (reason IS NOT :reason OR reading IS NOT :reading)
            """,
            [
                "reason": reason, "pieced": JournalQuarantine.fragmented, "reading": entry.reading,
                "wall": entry.wall?.description, "ml": entry.amountMl, "about": entry.about,
                "received": entry.received, "id": row,
            ])
    }

    /// Stores the values of an entry with a date. Replaces the time of receipt as `update` does.
    private func storeDate(of row: Int64, _ entry: JournalEntry) throws {
        let (verdict, reason) = Self.columns(entry)
        try db.run(
            """
            UPDATE bottle_record SET wall = ?, amountMl = ?, isDrink = ?, verdict = ?, reason = ?, reading = ?,
                about = NULL, received = iif(reason IN ('hostClock', 'pieced'), ?, received) WHERE id = ?
            """,
            [
                Self.wall(entry), entry.amountMl, entry.isFlaggedDrink, verdict, reason, entry.reading, entry.received,
                row,
            ])
    }

    /// Marks the quarantined record with these bytes as superseded: a dated record of the same drink is stored.
    private func supersede(_ raw: [UInt8], _ bottle: Int64) throws {
        guard hasQuarantined else { return }
        try db.run(
            "UPDATE bottle_record SET verdict = 'superseded' WHERE bottle = ? AND raw = ? AND verdict = 'quarantined'",
            [bottle, Data(raw)])
    }

    // MARK: - Records with a date

    private struct DatedRow: FetchableRecord {
        let id: Int64
        let wall: String?
        let amountMl: Int
        let verdict: String
        let reason: String?

        init(row: Row) throws {
            (id, wall, amountMl) = (try row.decode(atIndex: 0), try row.decode(atIndex: 1), try row.decode(atIndex: 2))
            (verdict, reason) = (try row.decode(atIndex: 3), try row.decode(atIndex: 4))
        }
    }

    private func datedID(_ entry: JournalEntry, of bottle: Int64) throws -> Int64? {
        try findDated.first(bottle, Data(entry.identity), entry.isFlaggedDrink)
    }

    private func datedRow(_ id: Int64) throws -> DatedRow? {
        try db.first("SELECT id, wall, amountMl, verdict, reason FROM bottle_record WHERE id = ?", [id])
    }

    /// The row of a known record, if the entry is another decoding of the same bytes.
    private func rowToDecodeAgain(_ id: Int64, _ entry: JournalEntry) throws -> DatedRow? {
        guard let reading = entry.reading, try findReading.first(id) != reading else { return nil }
        return try datedRow(id)
    }

    private func storeReading(_ entry: JournalEntry, of row: DatedRow) throws {
        try db.run("UPDATE bottle_record SET reading = ? WHERE id = ?", [entry.reading, row.id])
    }

    /// Applies a new decoding of the same bytes to the row and its drink.
    private mutating func applyDecoding(of entry: JournalEntry, to row: DatedRow, _ bottle: Bottle) throws {
        guard row.reason != Self.byHand else { return }
        guard
            row.wall != Self.wall(entry) || row.amountMl != entry.amountMl || row.verdict != Self.columns(entry).verdict
        else { return try storeReading(entry, of: row) }
        try storeDate(of: row.id, entry)
        let oldKey = Drink.bottleKey(bottle: bottle.origin, wall: row.wall ?? "", amountMl: row.amountMl)
        switch (row.verdict, entry.verdict) {
        case ("drink", .drink(let instant, let zone)):
            try changeDrink(oldKey, entry, at: instant, zone, isMoved: row.wall != Self.wall(entry), bottle)
        case ("drink", _):
            changedInstants += try db.all("SELECT instant FROM drink WHERE key = ?", [oldKey])
            // Keep a tombstone: the drink stays deleted if the old decoding returns.
            try db.run("DELETE FROM drink WHERE key = ? AND deleted = 0", [oldKey])
        case (_, .drink):
            _ = try addDrink(entry, bottle, keepsZone: false)
        default:
            break
        }
    }

    /// Changes the drink of a record after a new decoding. An unchanged wall-clock time keeps its instant and day.
    private mutating func changeDrink(
        _ oldKey: String, _ entry: JournalEntry, at instant: Instant, _ zone: String, isMoved: Bool, _ bottle: Bottle
    ) throws {
        guard let old: Instant = try db.first("SELECT instant FROM drink WHERE key = ?", [oldKey]) else {
            _ = try addDrink(entry, bottle, keepsZone: false)
            return
        }
        let (key, newZone) = (Self.key(entry, bottle), dayZone ?? zone)
        try db.run(
            """
            UPDATE OR IGNORE drink SET key = :key, ml = :ml, updatedAt = :now,
                instant = iif(:moved, :instant, instant), zone = iif(:moved, :zone, zone),
                localDay = iif(:moved, :day, localDay) WHERE key = :old
            """,
            [
                "key": key, "ml": entry.amountMl, "now": entry.received, "moved": isMoved, "instant": instant,
                "zone": newZone, "day": try calendar(newZone).day(of: instant), "old": oldKey,
            ])
        try db.run("UPDATE drink SET correctionOf = ? WHERE correctionOf = ?", [key, oldKey])
        changedInstants += [old, isMoved ? instant : old]
    }

    /// Stores the drink of an entry whose verdict is a drink.
    /// - Returns: whether the drink is new.
    private mutating func addDrink(_ entry: JournalEntry, _ bottle: Bottle, keepsZone: Bool) throws -> Bool {
        guard case .drink(let instant, let entryZone) = entry.verdict else { return false }
        let zone = keepsZone ? entryZone : dayZone ?? entryZone
        try insertDrink.run(
            Self.key(entry, bottle), instant, zone, try calendar(zone).day(of: instant), entry.amountMl, bottle.id,
            entry.received)
        changedInstants.append(instant)
        guard db.changesCount > 0 else { return false }
        try advancePosition.execute()
        if hasSamples { try replaceSamples(of: entry, at: instant) }
        return true
    }

    /// Removes another program's samples of the same minute and amount, one of each source.
    private func replaceSamples(of entry: JournalEntry, at instant: Instant) throws {
        let minute = instant.milliseconds - instant.milliseconds % 60_000
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT id, key, ml FROM drink
                    WHERE instant BETWEEN ? AND ? AND deleted = 0 AND correctionOf IS NULL AND key GLOB 'health|*'
                    """), arguments: [minute, minute + 59_999])
        var sources: Set<String> = []
        for row in rows {
            guard let source = HealthSample.source(try row.decode(atIndex: 1)),
                HealthFiles.isSameAmount(entry.amountMl, try row.decode(atIndex: 2)), sources.insert(source).inserted
            else { continue }
            try db.run(
                "UPDATE drink SET deleted = 1, deletedWith = 'bottle', updatedAt = ? WHERE id = ?",
                [entry.received, try row.decode(Int64.self, atIndex: 0)])
        }
    }

    // MARK: - Entries of another store

    /// Adds an entry from another store. An entry that this store already has keeps its dialect and amount.
    mutating func importEntry(_ wire: WireEntry) throws -> JournalOutcome {
        var (entry, undatedName) = (wire.entry, nil as String?)
        let localNames = try localNames(of: wire)
        for name in localNames {
            let bottle = try bottle(name)
            guard try datedID(entry, of: bottle.id) == nil else { return .duplicate }
            if undatedName == nil, try undatedRow(bottle.id, entry.raw) != nil { undatedName = name }
        }
        if undatedName != nil, case .quarantined = entry.verdict { return .waiting }
        entry.bottle = undatedName ?? localNames[0]
        let (outcome, hasAddedDrink) = try add(entry, keepsZone: true)
        // The user's version of an existing drink takes precedence.
        guard outcome.isNew, wire.isDeleted, hasAddedDrink else { return outcome }
        let bottle = try bottle(entry.bottle)
        let key = Self.key(entry, bottle)
        try db.run("UPDATE drink SET deleted = 1 WHERE key = ?", [key])
        guard let edit = wire.edit else { return outcome }
        try db.run(
            """
            INSERT INTO drink (key, instant, zone, localDay, ml, source, bottle, updatedAt, correctionOf)
            VALUES (?, ?, ?, ?, ?, 'bottle', ?, ?, ?) ON CONFLICT DO NOTHING
            """,
            [
                edit.key, edit.at, edit.zone, try calendar(edit.zone).day(of: edit.at), edit.ml, bottle.id,
                entry.received, key,
            ])
        changedInstants.append(edit.at)
        return outcome
    }

    /// The key of the record's drink in this store.
    mutating func key(of wire: WireEntry) throws -> String {
        let localNames = try localNames(of: wire)
        for name in localNames {
            let bottle = try bottle(name)
            guard let row = try datedID(wire.entry, of: bottle.id).flatMap(datedRow) else { continue }
            return Drink.bottleKey(
                bottle: bottle.origin, wall: row.wall ?? Self.wall(wire.entry), amountMl: row.amountMl)
        }
        return Self.key(wire.entry, try bottle(localNames[0]))
    }

    mutating func bottle(of wire: WireEntry) throws -> Int64 { try bottle(localNames(of: wire)[0]).id }

    /// The names of the entry's bottle in this store, or a new one. The store's own bottle gets no new names.
    private mutating func localNames(of wire: WireEntry) throws -> [String] {
        let names = [wire.entry.bottle] + wire.names
        if let found = localNames[names] { return found }
        var (found, rows): ([String], Set<Int64>) = ([], [])
        for name in names {
            if let id = try BottleTable.findIdentity(name, db), rows.insert(id).inserted { found.append(name) }
        }
        if found.isEmpty { found = [wire.entry.bottle] }
        let first = try bottle(found[0])
        if try !BottleTable.isOwn(first.id, db) {
            for name in names where try BottleTable.findIdentity(name, db) == nil {
                try db.run("INSERT INTO bottle_name (name, bottle) VALUES (?, ?)", [name, first.id])
            }
        }
        localNames[names] = found
        return found
    }

    // MARK: - Lookups

    private static func key(_ entry: JournalEntry, _ bottle: Bottle) -> String {
        Drink.bottleKey(bottle: bottle.origin, wall: wall(entry), amountMl: entry.amountMl)
    }

    /// The wall-clock time for a key, or the bytes of a record without a time.
    private static func wall(_ entry: JournalEntry) -> String {
        entry.wall?.description ?? entry.raw.map { String($0, radix: 16) }.joined(separator: " ")
    }

    static let byHand = "byHand"

    private static func columns(_ entry: JournalEntry) -> (verdict: String, reason: String?) {
        switch entry.verdict {
        case .drink: ("drink", entry.isDatedManually ? byHand : nil)
        case .notADrink(let reason): ("notADrink", reason)
        case .quarantined(let reason): ("quarantined", reason)
        }
    }

    private mutating func calendar(_ zone: String) throws -> DayCalendar {
        if let calendar = calendars[zone] { return calendar }
        let calendar = DayCalendar(zone: try Zone(zone), boundaryHour: boundaryHour)
        calendars[zone] = calendar
        return calendar
    }

    private mutating func bottle(_ name: String) throws -> Bottle {
        if let bottle = bottles[name] { return bottle }
        let id = try BottleTable.find(name, db) ?? BottleTable.findOrAdd(name, db)
        let origin = try db.first("SELECT origin FROM bottle WHERE id = ?", [id]) ?? name
        bottles[name] = (id, origin)
        return (id, origin)
    }
}
