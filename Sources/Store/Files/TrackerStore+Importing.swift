import GRDB
import TrackerCore

/// What an import changed.
package struct ImportOutcome: Hashable, Sendable {
    /// Drinks that are new.
    package var added = 0
    /// Known already: by our own key, or by start, value and source.
    package var known = 0
    /// Samples of 0 ml, which are no drinks.
    package var empty = 0
}

extension TrackerStore {
    /// Every counted drink, oldest first.
    package func allDrinks() throws -> [Drink] {
        var drinks: [Drink] = []
        try forEachDrink { drink, _ in drinks.append(drink) }
        return drinks
    }

    /// Hands out every counted drink, oldest first, as it is read: what an export writes, of one state of the store.
    /// With each the key of the drink that it was corrected from.
    package func forEachDrink(_ body: (Drink, _ original: String?) throws -> Void) throws {
        try readAtLength { db in
            try Row.fetchCursor(
                db, sql: "SELECT \(StoredDrink.columns) FROM drink WHERE deleted = 0 AND ml > 0 ORDER BY instant, key"
            ).forEachDrink(body)
        }
    }

    /// Takes samples in: all of them, or none (tracker law D4).
    ///
    /// A sample of ours keeps its key, so that a store restored from an export knows the bottle's records again and a
    /// deleted drink stays deleted; where the file says its zone, day and source, it keeps those too, and one that was
    /// corrected keeps the drink away that it stands instead of. A foreign one is known by start, value and source: a
    /// file read twice adds nothing.
    /// - Parameter produce: hands over the samples one by one; what it throws, too, leaves the store as it was. However
    ///   long it takes, nobody waits: until the last one has come they lie aside, in a temporary table.
    package func importSamples(
        _ context: WriteContext, _ produce: (_ take: (HealthSample) throws -> Void) throws -> Void
    ) throws -> ImportOutcome {
        try writeAtLength { db in
            var outcome = ImportOutcome()
            try db.execute(sql: "PRAGMA temp_store = FILE; \(ImportTable.sql)")
            defer { try? db.execute(sql: "DROP TABLE temp.sample") }
            var table = try ImportTable(db)
            try db.inTransaction(.deferred) {
                try produce { sample in
                    try Self.refuseAhead(sample, context)
                    if sample.ml > 0 { try table.add(sample) } else { outcome.empty += 1 }
                }
                return .commit
            }
            try ImportTable.withRoom(db) {
                try db.inTransaction(.immediate) {
                    try table.land(&outcome, context, dayCalendar(context.zone, db), db)
                    return .commit
                }
            }
            return outcome
        }
    }

    /// Seconds that another device's clock may be ahead of this machine's.
    static let sampleAheadSeconds: Double = 600

    /// What is ours was dated when it was written, perhaps by a clock that was right.
    private static func refuseAhead(_ sample: HealthSample, _ context: WriteContext) throws {
        guard sample.uuid != sample.importKey, context.now.seconds(to: sample.at) > sampleAheadSeconds else { return }
        throw Refusal(
            "notInTheFuture",
            """
            A sample of the file is of \(sample.at), which is still to come: nothing of the file was taken in. Put \
            its date right, or this machine's clock.
            """
        )
    }

    /// Imports samples that are at hand; the same as those that come one after the other.
    package func importSamples(_ samples: [HealthSample], _ context: WriteContext) throws -> ImportOutcome {
        try importSamples(context) { take in try samples.forEach(take) }
    }
}

extension RowCursor {
    /// Rows that no program of ours writes are left out, as everywhere; the doctor names them.
    func forEachDrink(_ body: (Drink, _ original: String?) throws -> Void) throws {
        while let row = try next() {
            let (drink, original): (Drink, String?)
            do {
                (drink, original) = (try StoredDrink(row: row).drink, try StoredDrink.original(row))
            } catch is UnreadableRow { continue }
            try body(drink, original)
        }
    }
}

/// Samples on their way into the store.
private struct ImportTable {
    static let sql = """
        CREATE TEMPORARY TABLE sample (
            key TEXT NOT NULL, uuid TEXT, instant INTEGER NOT NULL, ml INTEGER NOT NULL, zone TEXT, localDay TEXT, \
        source TEXT, instead TEXT
        )
        """

    private let insert: Statement
    private var samples = 0
    /// Foreign samples that carry a key of ours.
    private var keyed = 0
    private var corrected = 0

    init(_ db: Database) throws {
        insert = try db.makeStatement(sql: "INSERT INTO temp.sample VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
    }

    /// Runs something with room in memory for the pages that it changes. Keys come in no order: with SQLite's usual 2
    /// MB nearly each drink of a long file would send a page of their index to the disk, and fetch another from there.
    static func withRoom(_ db: Database, _ body: () throws -> Void) throws {
        let usual = try Int.fetchOne(db, sql: "PRAGMA main.cache_size") ?? -2000
        try db.execute(sql: "PRAGMA main.cache_size = -12000")
        defer {
            try? db.execute(sql: "PRAGMA main.cache_size = \(usual)")
            db.releaseMemory()
        }
        try body()
    }

    mutating func add(_ sample: HealthSample) throws {
        let key = sample.importKey
        samples += 1
        if sample.uuid != key, sample.uuid != nil { keyed += 1 }
        if sample.uuid == key, sample.original != nil { corrected += 1 }
        try insert.execute(arguments: [
            key, sample.uuid == key ? nil : sample.uuid, sample.at.milliseconds, sample.ml, sample.zone,
            sample.day?.description, sample.source?.rawValue,
            sample.uuid == key ? sample.original : nil,
        ])
    }

    /// A bottle that this store knows by another name keeps the name here that it was first seen under: the key of a
    /// drink begins with it, and what the bottle delivers itself has that key.
    private static func rename(_ db: Database) throws {
        let names = try Row.fetchAll(
            db,
            sql:
                """
                SELECT n.name, b.origin FROM bottle_name AS n JOIN bottle AS b ON b.id = n.bottle
                WHERE n.name <> b.origin AND NOT n.isAlias
                """
        )
        for row in names {
            let (name, origin): (String, String) = (try row.checked("name"), try row.checked("origin"))
            for column in ["key", "uuid", "instead"] {
                try db.execute(
                    sql:
                        """
                        UPDATE temp.sample SET \(column) = ? || substr(\(column), length(?) + 1) WHERE \
                        substr(\(column), 1, length(?) + 1) = ? || '|'
                        """,
                    arguments: [origin, name, name, name])
            }
        }
    }

    /// One statement for all samples: with one for each SQLite writes aside, for each, the pages that it changes, in
    /// case that this one fails.
    ///
    /// A foreign sample that carries our key is known when the store has that drink, or gets it from another line of
    /// the file.
    func land(_ outcome: inout ImportOutcome, _ context: WriteContext, _ calendar: DayCalendar, _ db: Database) throws {
        let dayOf = DatabaseFunction("waterh_day_of", argumentCount: 1, pure: true) { values in
            Int64.fromDatabaseValue(values[0]).map { calendar.day(of: Instant(milliseconds: $0)).description }
        }
        db.add(function: dayOf)
        defer { db.remove(function: dayOf) }
        try Self.rename(db)
        if keyed > 0 { try db.execute(sql: "CREATE INDEX temp.sample_ours ON sample (key) WHERE uuid IS NULL") }
        // What the phone only gives back is known: it leaves the table here, and is counted with the other known ones
        // below.
        try TrackerStore.takeGivenAway(db)
        if corrected > 0 {
            // What a person corrected or deleted here stays. Of several corrections in the file the last one counts.
            try db.execute(
                sql: """
                    DELETE FROM temp.sample WHERE instead IS NOT NULL AND instead <> key AND (
                        EXISTS (SELECT 1 FROM drink AS there WHERE there.key = sample.instead AND there.deleted)
                        OR EXISTS (SELECT 1 FROM drink AS there WHERE there.instead = sample.instead)
                        OR EXISTS (SELECT 1 FROM temp.sample AS later
                            WHERE later.instead = sample.instead AND later.rowid > sample.rowid))
                    """)
            try db.execute(
                sql: """
                    CREATE TEMPORARY TABLE corrected AS SELECT key, instead FROM temp.sample
                    WHERE instead IS NOT NULL AND instead <> key AND NOT EXISTS (SELECT 1 FROM drink AS there WHERE \
                    there.key = sample.key)
                    """)
        }
        defer { if corrected > 0 { try? db.execute(sql: "DROP TABLE temp.corrected") } }
        let isNew =
            keyed > 0
            ? """
            WHERE uuid IS NULL OR NOT EXISTS (SELECT 1 FROM drink AS there WHERE there.key = sample.uuid)
                AND NOT EXISTS (SELECT 1 FROM temp.sample AS ours WHERE ours.key = sample.uuid AND ours.uuid IS NULL)
            """ : "WHERE true"
        let last = try Int64.fetchOne(db, sql: "SELECT last FROM drink_sequence") ?? 0
        try db.execute(
            sql: """
                INSERT INTO drink (key, instant, zone, localDay, ml, source, updatedAt, born, place)
                SELECT key, instant, COALESCE(zone, ?), COALESCE(localDay, waterh_day_of(instant)), ml, \
                COALESCE(source, ?), ?, ? + rowid, ? + rowid
                FROM temp.sample
                \(isNew)
                ORDER BY sample.rowid
                ON CONFLICT (key) DO NOTHING
                """,
            arguments: [context.zone.id, DrinkSource.health.rawValue, context.now.milliseconds, last, last])
        outcome.added += db.changesCount
        outcome.known += samples - db.changesCount
        // Places of known ones stay empty.
        try db.execute(
            sql:
                """
                INSERT INTO drink_sequence (only, last) SELECT 1, place FROM drink ORDER BY place DESC LIMIT 1 ON \
                CONFLICT (only) DO UPDATE SET last = max(last, excluded.last)
                """
        )
        guard corrected > 0, try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM temp.corrected)") == true else {
            return
        }
        // What was corrected stays away, also if the bottle still has it, or a poll has brought it already.
        try db.execute(
            sql: """
                INSERT INTO drink (key, instant, zone, localDay, ml, source, updatedAt, deleted)
                    SELECT c.instead, d.instant, d.zone, d.localDay, d.ml, d.source, d.updatedAt, 1 FROM \
                temp.corrected AS c JOIN drink AS d ON d.key = c.key WHERE true
                    ON CONFLICT (key) DO UPDATE SET deleted = 1, updatedAt = excluded.updatedAt;
                UPDATE drink SET instead = (SELECT instead FROM temp.corrected AS c WHERE c.key = drink.key)
                    WHERE key IN (SELECT key FROM temp.corrected)
                """)
    }
}
