import GRDB
import TrackerCore

/// Writes one batch with prepared statements and cached lookups.
struct JournalWriter {
    /// The instants of new or changed drinks.
    private(set) var touched: [Instant] = []
    private var hasAddedDrink = false

    private let db: Database
    private let dayZone: String?
    private let boundaryHour: Int
    private var bottles: [String: (id: Int64, origin: String)] = [:]
    private var homes: [[String]: [String]] = [:]
    /// Whether a drink of another store keeps its day.
    private var isFrozen = false
    private var calendars: [String: DayCalendar] = [:]
    private var hasUndated: Bool

    private var places: GivenPlaces

    private let findDated: Statement
    private let findReading: Statement
    private let insertRecord: Statement
    private let insertDrink: Statement

    /// Writes a batch with the same result as separate changes.
    static func write<T>(_ db: Database, hostZone: String?, _ batch: (inout JournalWriter) throws -> T) throws -> (
        result: T, writer: JournalWriter
    ) {
        var writer = try JournalWriter(db, hostZone: hostZone)
        let result = try batch(&writer)
        try writer.places.settle()
        return (result, writer)
    }

    private init(_ db: Database, hostZone: String?) throws {
        self.db = db
        places = GivenPlaces(db)
        let settings = try SettingTable.settings(db)
        (dayZone, boundaryHour) = (settings.dayZone ?? hostZone, settings.boundaryHour)
        hasUndated =
            try db.has("FROM bottle_record WHERE verdict = 'quarantined'")
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
                INSERT INTO drink (key, instant, zone, localDay, ml, source, bottle, updatedAt, born, place)
                VALUES (?1, ?2, ?3, ?4, ?5, 'bottle', ?6, ?7, ?8, ?8) ON CONFLICT DO NOTHING
                """)
    }

    mutating func append(_ entry: JournalEntry) throws -> JournalOutcome {
        let bottle = try known(entry.bottle)
        let found = try dated(entry, of: bottle.id)
        // A fast path for polls: the row is not read if the reading is the same.
        let dated = try found.flatMap { try saysNothingNew(entry, of: $0) ? nil : try row($0) }
        if case .quarantined(let reason) = entry.verdict {
            // An accepted record is final (A2 rule 5), even if it is now too old or invalid in another dialect.
            if found != nil {
                guard let dated else { return .duplicate }
                try noteReading(dated, entry)
                return .duplicate
            }
            return try keepUndated(entry, reason, bottle.id)
        }
        if found != nil {
            if let dated { try reread(dated, entry, bottle) }
            if hasUndated { try supersede(entry.raw, bottle.id) }
            return .duplicate
        }
        if hasUndated, let waiting = try undated(bottle.id, entry.raw) {
            try date(waiting, entry)
            try addDrink(entry, bottle)
            return .promoted
        }
        try insert(entry, bottle.id)
        try addDrink(entry, bottle)
        return .stored
    }

    // MARK: - Records without a date

    private mutating func keepUndated(_ entry: JournalEntry, _ reason: String, _ bottle: Int64) throws -> JournalOutcome
    {
        guard hasUndated, let waiting = try undated(bottle, entry.raw) else {
            try insert(entry, bottle)
            hasUndated = true
            return .stored
        }
        // Replaces a time of receipt by an untrusted clock. A record with a wrong date of the bottle stays quarantined.
        // A record that was received completely does not become a fragment.
        let update = try db.cachedStatement(
            sql: """
                UPDATE bottle_record SET reason = :reason, reading = :reading, wall = :wall, amountMl = :ml, \
                    about = :about, received = iif(reason = 'hostClock', :received, received)
                WHERE id = :id AND reason IS NOT 'bottleClock' AND (:reason IS NOT :doubt OR reason IS :doubt)
                    AND (reason IS NOT :reason OR reading IS NOT :reading)
                """)
        try update.execute(arguments: [
            "reason": reason, "doubt": JournalDoubt.pieced, "reading": entry.reading, "wall": entry.wall?.description,
            "ml": entry.amountMl,
            "about": entry.about?.milliseconds, "received": entry.received.milliseconds, "id": waiting,
        ])
        return .waiting
    }

    private func undated(_ bottle: Int64, _ raw: [UInt8]) throws -> Int64? {
        let statement = try db.cachedStatement(
            sql: "SELECT id FROM bottle_record WHERE bottle = ? AND raw = ? AND verdict = 'quarantined'")
        return try Int64.fetchOne(statement, arguments: [bottle, DatabaseValue(bytes: raw)])
    }

    private func date(_ row: Int64, _ entry: JournalEntry) throws {
        let (verdict, reason) = Self.columns(entry)
        let update = try db.cachedStatement(
            sql: """
                UPDATE bottle_record SET wall = ?, amountMl = ?, isDrink = ?, verdict = ?, reason = ?, reading = ?,
                    about = NULL WHERE id = ?
                """)
        try update.execute(arguments: [
            Self.wall(entry), entry.amountMl, entry.isFlaggedDrink, verdict, reason, entry.reading, row,
        ])
    }

    /// Another record of the same drink is stored, with other bytes.
    private func supersede(_ raw: [UInt8], _ bottle: Int64) throws {
        let update = try db.cachedStatement(
            sql:
                """
                UPDATE bottle_record SET verdict = 'superseded' WHERE bottle = ? AND raw = ? AND verdict = \
                'quarantined'
                """
        )
        try update.execute(arguments: [bottle, DatabaseValue(bytes: raw)])
    }

    // MARK: - Records with a date

    /// The dated row of the same record.
    private func dated(_ entry: JournalEntry, of bottle: Int64) throws -> Int64? {
        try findDated.first(Int64.self, bottle, DatabaseValue(bytes: Array(entry.identity)), entry.isFlaggedDrink)
    }

    private func saysNothingNew(_ entry: JournalEntry, of row: Int64) throws -> Bool {
        guard let reading = entry.reading else { return true }
        return try findReading.first(String.self, row) == reading
    }

    private func row(_ id: Int64) throws -> Row? {
        try Row.fetchOne(
            try db.cachedStatement(
                sql:
                    """
                    SELECT id, wall, amountMl, verdict, reason, reading FROM bottle_record WHERE id = ?
                    """
            ), arguments: [id])
    }

    /// A new reading of the same bytes changes the row and its drink. The same reading changes nothing.
    private mutating func reread(_ row: Row, _ entry: JournalEntry, _ bottle: (id: Int64, origin: String)) throws {
        guard let reading = entry.reading, try row.checked("reading", String?.self) != reading, try !Self.isByHand(row)
        else { return }
        let before = (
            wall: try row.checked("wall", String?.self), ml: try row.checked("amountMl", Int.self),
            verdict: try row.checked("verdict", String.self)
        )
        let (verdict, _) = Self.columns(entry)
        let wall = Self.wall(entry)
        guard before.wall != wall || before.ml != entry.amountMl || before.verdict != verdict else {
            return try noteReading(row, entry)
        }
        try date(row.checked("id"), entry)
        let oldKey = Drink.bottleKey(bottle: bottle.origin, wall: before.wall ?? "", amountMl: before.ml)
        switch (before.verdict, entry.verdict) {
        case ("drink", .drink(let instant, let zone)):
            try rewrite(oldKey, entry, at: instant, zone, isMoved: before.wall != wall, bottle)
        case ("drink", _):
            if let old = try Int64.fetchOne(db, sql: "SELECT instant FROM drink WHERE key = ?", arguments: [oldKey]) {
                touched.append(Instant(milliseconds: old))
            }
            // Keep a tombstone: the drink stays deleted if the old reading returns.
            try db.execute(sql: "DELETE FROM drink WHERE key = ? AND deleted = 0", arguments: [oldKey])
        case (_, .drink):
            try addDrink(entry, bottle)
        default:
            break
        }
    }

    /// Changes the drink of a record after a new reading. An unchanged wall-clock time keeps its instant and day.
    private mutating func rewrite(
        _ oldKey: String, _ entry: JournalEntry, at instant: Instant, _ zone: String, isMoved: Bool,
        _ bottle: (id: Int64, origin: String)
    ) throws {
        let old = try Row.fetchOne(
            db, sql: "SELECT instant, zone, localDay FROM drink WHERE key = ?", arguments: [oldKey])
        guard let old else { return try addDrink(entry, bottle) }
        let newZone = isMoved ? dayZone ?? zone : try old.checked("zone")
        let newInstant = isMoved ? instant.milliseconds : try old.checked("instant")
        let day = isMoved ? try calendar(newZone).day(of: instant).description : try old.checked("localDay")
        try places.settle()
        try db.execute(
            sql: """
                UPDATE OR IGNORE drink SET key = ?, ml = ?, instant = ?, zone = ?, localDay = ?, updatedAt = ? WHERE \
                key = ?
                """,
            arguments: [
                Drink.bottleKey(bottle: bottle.origin, wall: Self.wall(entry), amountMl: entry.amountMl),
                entry.amountMl, newInstant, newZone, day,
                entry.received.milliseconds, oldKey,
            ])
        try db.execute(
            sql: "UPDATE drink SET instead = ? WHERE instead = ?",
            arguments: [
                Drink.bottleKey(bottle: bottle.origin, wall: Self.wall(entry), amountMl: entry.amountMl), oldKey,
            ])
        touched += [Instant(milliseconds: try old.checked("instant")), Instant(milliseconds: newInstant)]
    }

    private static func isByHand(_ row: Row) throws -> Bool { try row.checked("reason", String?.self) == byHand }
    // MARK: - Entries of another journal

    /// Adds an unknown entry. A known one keeps its reading.
    mutating func take(_ wire: WireEntry) throws -> JournalOutcome {
        var (entry, waits) = (wire.entry, nil as String?)
        let homes = try homes(of: wire)
        for home in homes {
            let bottle = try known(home)
            guard try dated(entry, of: bottle.id) == nil else { return .duplicate }
            if hasUndated, waits == nil, try undated(bottle.id, entry.raw) != nil { waits = home }
        }
        if waits != nil, case .quarantined = entry.verdict { return .waiting }
        entry.bottle = waits ?? homes[0]
        isFrozen = true
        defer { isFrozen = false }
        hasAddedDrink = false
        let outcome = try append(entry)
        // The user's version of an existing drink takes precedence.
        guard outcome.isNew, wire.isDeleted, hasAddedDrink else { return outcome }
        let key = try Drink.bottleKey(
            bottle: known(entry.bottle).origin, wall: Self.wall(entry), amountMl: entry.amountMl)
        try places.settle()
        try db.execute(sql: "UPDATE drink SET deleted = 1 WHERE key = ?", arguments: [key])
        guard let edit = wire.edit else { return outcome }
        try db.execute(
            sql: """
                INSERT INTO drink (key, instant, zone, localDay, ml, source, bottle, updatedAt, instead)
                VALUES (?, ?, ?, ?, ?, 'bottle', ?, ?, ?) ON CONFLICT DO NOTHING
                """,
            arguments: [
                edit.key, edit.at.milliseconds, edit.zone, try calendar(edit.zone).day(of: edit.at).description,
                edit.ml, known(entry.bottle).id,
                entry.received.milliseconds, key,
            ])
        touched.append(edit.at)
        return outcome
    }

    /// The key of the record's drink in this store.
    mutating func key(of wire: WireEntry) throws -> String {
        let homes = try homes(of: wire)
        for home in homes {
            let bottle = try known(home)
            guard let id = try dated(wire.entry, of: bottle.id), let row = try row(id) else { continue }
            return Drink.bottleKey(
                bottle: bottle.origin, wall: try row.checked("wall", String?.self) ?? Self.wall(wire.entry),
                amountMl: try row.checked("amountMl"))
        }
        return Drink.bottleKey(
            bottle: try known(homes[0]).origin, wall: Self.wall(wire.entry), amountMl: wire.entry.amountMl)
    }

    mutating func bottle(of wire: WireEntry) throws -> Int64 { try known(homes(of: wire)[0]).id }

    /// The names of the entry's bottle in this store, or a new one. The store's own bottle gets no new names.
    private mutating func homes(of wire: WireEntry) throws -> [String] {
        let names = [wire.entry.bottle] + wire.names
        if let found = homes[names] { return found }
        var (found, rows): ([String], Set<Int64>) = ([], [])
        for name in names {
            if let id = try BottleTable.identified(name, db), rows.insert(id).inserted { found.append(name) }
        }
        if found.isEmpty { found = [wire.entry.bottle] }
        let first = try known(found[0])
        if try !BottleTable.isOwn(first.id, db) {
            for name in names where try BottleTable.identified(name, db) == nil {
                try db.execute(
                    sql: "INSERT INTO bottle_name (name, bottle) VALUES (?, ?)", arguments: [name, first.id])
            }
        }
        homes[names] = found
        return found
    }

    private func noteReading(_ row: Row, _ entry: JournalEntry) throws {
        guard let reading = entry.reading, try row.checked("reading", String?.self) != reading else { return }
        try db.cachedStatement(sql: "UPDATE bottle_record SET reading = ? WHERE id = ?").execute(arguments: [
            reading, try row.checked("id", Int64.self),
        ])
    }

    private mutating func addDrink(_ entry: JournalEntry, _ bottle: (id: Int64, origin: String)) throws {
        guard case .drink(let instant, let readIn) = entry.verdict else { return }
        let zone = isFrozen ? readIn : dayZone ?? readIn
        let day = try calendar(zone).day(of: instant).description
        // A given position avoids the trigger, which takes a quarter of the time of a batch.
        try insertDrink.run(
            Drink.bottleKey(bottle: bottle.origin, wall: Self.wall(entry), amountMl: entry.amountMl),
            instant.milliseconds, zone, day, entry.amountMl,
            bottle.id, entry.received.milliseconds, try places.next())
        touched.append(instant)
        hasAddedDrink = db.changesCount > 0
        guard hasAddedDrink else { return }
        places.take()
        try replaceSamples(of: entry, at: instant)
    }

    /// Removes another program's samples of the same minute and amount, one of each source.
    private mutating func replaceSamples(of entry: JournalEntry, at instant: Instant) throws {
        let minute = instant.milliseconds - instant.milliseconds % 60_000
        let rows = try Row.fetchAll(
            try db.cachedStatement(
                sql: """
                    SELECT id, key, ml FROM drink
                    WHERE instant BETWEEN ? AND ? AND deleted = 0 AND instead IS NULL AND key GLOB 'health|*'
                    """), arguments: [minute, minute + 59_999])
        var sources: Set<String> = []
        for row in rows {
            guard let source = HealthSample.source(try row.checked("key")),
                HealthFiles.isSameAmount(entry.amountMl, try row.checked("ml")), sources.insert(source).inserted
            else { continue }
            try places.settle()
            try db.execute(
                sql: "UPDATE drink SET deleted = 1, deletedWith = 'bottle', updatedAt = ? WHERE id = ?",
                arguments: [entry.received.milliseconds, try row.checked("id", Int64.self)])
        }
    }

    private func insert(_ entry: JournalEntry, _ bottle: Int64) throws {
        let (verdict, reason) = Self.columns(entry)
        let wall = verdict == "quarantined" ? entry.wall?.description : Self.wall(entry)
        try insertRecord.run(
            bottle, DatabaseValue(bytes: entry.raw), wall, entry.amountMl, entry.isFlaggedDrink, verdict, reason,
            entry.received.milliseconds, entry.reading, entry.about?.milliseconds)
    }

    // MARK: - Lookups

    /// The wall-clock time for a key, or the bytes of a record without a time.
    static func wall(_ entry: JournalEntry) -> String {
        entry.wall?.description ?? entry.raw.map { String($0, radix: 16) }.joined(separator: " ")
    }

    static let byHand = "byHand"

    private static func columns(_ entry: JournalEntry) -> (verdict: String, reason: String?) {
        switch entry.verdict {
        case .drink: ("drink", entry.isByHand ? byHand : nil)
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

    private mutating func known(_ name: String) throws -> (id: Int64, origin: String) {
        if let bottle = bottles[name] { return bottle }
        let id = try BottleTable.known(name, db) ?? BottleTable.identifier(of: name, db)
        let origin = try String.fetchOne(db, sql: "SELECT origin FROM bottle WHERE id = ?", arguments: [id]) ?? name
        bottles[name] = (id, origin)
        return (id, origin)
    }
}
