import Foundation
import GRDB
package import TrackerCore

package struct ImportOutcome: Hashable, Sendable {
    package var added = 0
    /// The number of drinks that were already stored: with the same key, with the same start, value and source, or from
    /// the bottle.
    package var known = 0
    /// The number of samples with 0 ml, which are not drinks.
    package var empty = 0
    /// The number of known samples that a bottle delivered.
    package var fromBottle = 0
    /// The number of drinks of an older export that the newer one no longer has.
    package var removed = 0
    package var excluded = 0
}

extension TrackerStore {
    /// All counted drinks, oldest first.
    package func allDrinks() throws -> [Drink] {
        var drinks: [Drink] = []
        try forEachDrink { drink, _, _ in drinks.append(drink) }
        return drinks
    }

    /// Passes every counted drink to `body`, oldest first, with the key of its original and the bottle's record.
    package func forEachDrink(_ body: (Drink, _ original: String?, _ record: ExportedRecord?) throws -> Void) throws {
        try readSeparately { db in
            try DrinkTable.exported(db).forEachDrink(body)
        }
    }

    /// Imports samples: all or none (tracker spec D4).
    ///
    /// An exported drink keeps its key. So a restored store recognises the bottle's records, and a deleted drink stays
    /// deleted. It also keeps its zone, day, source and original, if the file has them. Another program's sample is
    /// identified by start, value and source, or as a bottle's drink of the same minute and amount. A newer Apple
    /// Health export replaces an older one of the same source for its days. Corrected or deleted drinks do not change.
    /// - Parameter readSamples: passes the samples to `add`. Returns the time of an Apple Health export, else `nil`.
    ///   An error changes nothing. Samples first go to a temporary table, so that other writers do not wait.
    package func importSamples(
        _ context: WriteContext, _ readSamples: (_ add: (HealthSample) throws -> Void) throws -> Instant?
    ) throws -> ImportOutcome {
        try writeSeparately { db in
            var outcome = ImportOutcome()
            try db.execute(sql: "PRAGMA temp_store = FILE; PRAGMA cache_size = -12000; \(ImportTable.sql)")
            defer { try? db.execute(sql: "DROP TABLE temp.sample") }
            let settings = try SettingTable.settings(db)
            var table = try ImportTable(db, excluded: settings.healthExcludedSources)
            var exportedAt: Instant?
            try db.inTransaction(.deferred) {
                exportedAt = try readSamples { sample in
                    try Self.rejectFuture(sample, context)
                    if sample.ml > 0 { try table.add(sample) } else { outcome.empty += 1 }
                }
                return .commit
            }
            try db.inTransaction(.immediate) {
                try table.insertDrinks(
                    &outcome, exportedAt: exportedAt, hostZone: hostZone, context, dayCalendar(context.zone, db), db)
                return .commit
            }
            return outcome
        }
    }

    /// The maximum time in seconds by which another device's clock can be ahead.
    static let maxSampleLeadSeconds: Double = 600

    /// Rejects a sample in the future, except exported drinks, whose time is known.
    private static func rejectFuture(_ sample: HealthSample, _ context: WriteContext) throws {
        guard sample.uuid != sample.importKey, context.now.seconds(to: sample.at) > maxSampleLeadSeconds else { return }
        throw Refusal(
            "notInTheFuture",
            """
            A sample of the file is dated in the future (\(sample.at)). Nothing was imported. Correct its date, or \
            this machine's clock.
            """
        )
    }
}

extension DrinkTable {
    /// Counted drinks, oldest first, each with the bottle's record.
    static func exported(_ db: Database) throws -> RowCursor {
        try Row.fetchCursor(
            db,
            sql: """
                SELECT \(StoredDrink.columns), r.wall AS recordWall, r.raw, (
                        SELECT group_concat(n.name, '|') FROM bottle_name AS n WHERE n.bottle = b.id AND n.isAlias = 0
                    ) AS addresses
                FROM drink LEFT JOIN bottle AS b ON b.id = drink.bottle LEFT JOIN bottle_record AS r
                    ON r.verdict = 'drink' AND r.bottle = drink.bottle AND r.wall || '|' || r.amountMl
                        = substr(coalesce(drink.correctionOf, drink.key), length(b.origin) + 2)
                WHERE drink.deleted = 0 AND drink.ml > 0
                GROUP BY drink.id ORDER BY drink.instant, drink.key
                """)
    }
}

extension RowCursor {
    func forEachDrink(_ body: (Drink, _ original: String?, _ record: ExportedRecord?) throws -> Void) throws {
        while let row = try next() {
            try body(StoredDrink(row: row).drink, StoredDrink.original(row), ExportedRecord(row: row))
        }
    }
}

extension ExportedRecord {
    fileprivate init?(row: Row) throws {
        guard let raw = try row.decode(Data?.self, forColumn: "raw") else { return nil }
        self.init(
            bottle: try row.decode(forColumn: "addresses"), wall: try row.decode(forColumn: "recordWall"),
            raw: [UInt8](raw))
    }
}

/// The samples of an import, in a temporary table.
private struct ImportTable {
    /// `origin` is the source of another program's sample. `bottle` and `raw` identify the record of an exported drink.
    static let sql = """
        CREATE TEMPORARY TABLE sample (
            key TEXT NOT NULL, uuid TEXT, instant INTEGER NOT NULL, ml INTEGER NOT NULL, zone TEXT, localDay TEXT, \
        source TEXT, correctionOf TEXT, origin TEXT, bottle TEXT, raw BLOB
        )
        """

    private let insert: Statement
    private let excludedSources: Set<String>
    private var samples = 0

    /// - Parameter excluded: names of sources, separated by commas.
    init(_ db: Database, excluded: String?) throws {
        insert = try db.makeStatement(sql: "INSERT INTO temp.sample VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        excludedSources = Set((excluded ?? "").split(separator: ",").map { Self.folded($0) })
    }

    private static func folded(_ name: some StringProtocol) -> String {
        String(name.lowercased().drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }

    mutating func add(_ sample: HealthSample) throws {
        let key = sample.importKey
        let isExport = sample.uuid == key
        samples += 1
        let hasRecord = isExport && sample.bottle != nil && sample.raw != nil
        try insert.run(
            key, isExport ? nil : sample.uuid, sample.at, sample.ml, sample.zone, sample.day, sample.source?.rawValue,
            isExport ? sample.original : nil, isExport ? nil : sample.sourceName ?? "", hasRecord ? sample.bottle : nil,
            hasRecord ? sample.raw.map { Data($0) } : nil)
    }

    /// Replaces a bottle's name by its first one, with which the keys of its drinks start.
    private static func useFirstNames(_ db: Database) throws {
        let names: [(String, String)] = try db.pairs(
            """
            SELECT n.name, b.origin FROM bottle_name AS n JOIN bottle AS b ON b.id = n.bottle
            WHERE n.name <> b.origin AND NOT n.isAlias
            """)
        for (name, origin) in names {
            for column in ["key", "uuid", "correctionOf"] {
                try db.run(
                    """
                    UPDATE temp.sample SET \(column) = ?1 || substr(\(column), length(?2) + 1)
                    WHERE substr(\(column), 1, length(?2) + 1) = ?2 || '|'
                    """, [origin, name])
            }
        }
    }

    /// Uses one statement for all samples, because SQLite saves the changed pages for each statement.
    ///
    /// Another program's sample with a key of this project is known if the store or the file has that drink.
    func insertDrinks(
        _ outcome: inout ImportOutcome, exportedAt: Instant?, hostZone: String?, _ context: WriteContext,
        _ calendar: DayCalendar, _ db: Database
    ) throws {
        let dayOf = DatabaseFunction("waterh_day_of", argumentCount: 1, pure: true) { values in
            Instant.fromDatabaseValue(values[0]).map { calendar.day(of: $0) }
        }
        db.add(function: dayOf)
        defer { db.remove(function: dayOf) }
        try Self.useFirstNames(db)
        try useLocalKeys(hostZone, context, db)
        try mergeOtherPrograms(&outcome, exportedAt, context, calendar, db)
        try db.execute(sql: "CREATE INDEX temp.sample_ours ON sample (key) WHERE uuid IS NULL")
        // Samples that a phone returns are removed here and counted as known below.
        try TrackerStore.removeReturnedSamples(db)
        try deleteCorrected(context, db)
        try db.execute(
            sql: """
                INSERT INTO drink
                    (key, instant, zone, localDay, ml, source, updatedAt, correctionOf, firstPosition, position)
                SELECT key, instant, COALESCE(zone, ?), COALESCE(localDay, waterh_day_of(instant)), ml,
                    COALESCE(source, ?), ?, nullif(correctionOf, key), \(DrinkPositions.next) + sample.rowid,
                    \(DrinkPositions.next) + sample.rowid
                FROM temp.sample -- A conflict would use up a number of AUTOINCREMENT.
                WHERE NOT EXISTS (SELECT 1 FROM drink AS known WHERE known.key = sample.key)
                    AND (uuid IS NULL OR NOT EXISTS (SELECT 1 FROM drink AS there WHERE there.key = sample.uuid)
                        AND NOT EXISTS (SELECT 1 FROM temp.sample AS ours
                            WHERE ours.key = sample.uuid AND ours.uuid IS NULL))
                ORDER BY sample.rowid
                ON CONFLICT DO NOTHING
                """,
            arguments: [context.zone.id, DrinkSource.health.rawValue, context.now])
        outcome.added += db.changesCount
        outcome.known += samples - db.changesCount - outcome.excluded
        try db.execute(
            sql: """
                INSERT INTO drink_sequence (only, last) SELECT 1, coalesce(max(position), 0) FROM drink WHERE true
                ON CONFLICT (only) DO UPDATE SET last = max(last, excluded.last)
                """)
        try journalRecords(hostZone, context, db)
    }

    /// Adds tombstones for the originals of the file's corrections, even if a bottle has yet to deliver them. The
    /// user's own correction or deletion takes precedence. The last of several corrections in the file counts.
    private func deleteCorrected(_ context: WriteContext, _ db: Database) throws {
        try db.execute(
            sql: """
                DELETE FROM temp.sample WHERE correctionOf <> key AND (
                    EXISTS (SELECT 1 FROM drink AS d WHERE d.key = sample.correctionOf AND d.deleted)
                    OR EXISTS (SELECT 1 FROM drink AS d WHERE d.correctionOf = sample.correctionOf)
                    OR EXISTS (SELECT 1 FROM temp.sample AS later
                        WHERE later.correctionOf = sample.correctionOf AND later.rowid > sample.rowid))
                """)
        try db.execute(
            sql: """
                INSERT INTO drink (key, instant, zone, localDay, ml, source, updatedAt, deleted)
                SELECT correctionOf, instant, COALESCE(zone, ?), COALESCE(localDay, waterh_day_of(instant)), ml,
                    COALESCE(source, ?), ?, 1 FROM temp.sample
                WHERE correctionOf <> key AND NOT EXISTS (SELECT 1 FROM drink AS there WHERE there.key = sample.key)
                ON CONFLICT (key) DO UPDATE SET deleted = 1, updatedAt = excluded.updatedAt
                """,
            arguments: [context.zone.id, DrinkSource.health.rawValue, context.now])
    }

    // MARK: - Records of bottles

    /// Renames drinks of bottles to their keys in this store. They can differ by address or by a manual date.
    private func useLocalKeys(_ hostZone: String?, _ context: WriteContext, _ db: Database) throws {
        let update = try db.makeStatement(
            sql: """
                UPDATE temp.sample SET key = CASE WHEN correctionOf IS NULL THEN :new ELSE key END,
                    correctionOf = CASE WHEN correctionOf IS NULL THEN NULL ELSE :new END WHERE rowid = :id
                """)
        var writer = try JournalWriter(db, hostZone: hostZone)
        try Self.forEachRecord(context, db) { id, record in
            try update.execute(arguments: ["new": try writer.key(of: record), "id": id])
        }
    }

    /// Stores the records in the journal, so that a later delivery is a duplicate.
    private func journalRecords(_ hostZone: String?, _ context: WriteContext, _ db: Database) throws {
        let update = try db.makeStatement(
            sql: "UPDATE drink SET bottle = :bottle WHERE (key = :key OR correctionOf = :key) AND bottle IS NULL")
        var writer = try JournalWriter(db, hostZone: hostZone)
        try Self.forEachRecord(context, db) { _, record in
            _ = try writer.importEntry(record)
            try update.execute(arguments: ["bottle": try writer.bottle(of: record), "key": try writer.key(of: record)])
        }
    }

    private static func forEachRecord(
        _ context: WriteContext, _ db: Database, _ body: (_ id: Int64, WireEntry) throws -> Void
    ) throws {
        let select = try db.makeStatement(
            sql: """
                SELECT rowid AS id, key, instant, ml, zone, correctionOf, bottle, raw FROM temp.sample
                WHERE raw IS NOT NULL AND rowid > ? ORDER BY rowid LIMIT 1000
                """)
        var last: Int64 = 0
        while case let rows = try Row.fetchAll(select, arguments: [last]), !rows.isEmpty {
            for row in rows {
                last = try row.decode(forColumn: "id")
                var sample = HealthSample(
                    at: try row.decode(forColumn: "instant"), ml: try row.decode(forColumn: "ml"),
                    uuid: try row.decode(forColumn: "key"))
                (sample.zone, sample.original) = (
                    try row.decode(forColumn: "zone"), try row.decode(forColumn: "correctionOf")
                )
                (sample.bottle, sample.raw) = (try row.decode(forColumn: "bottle"), try row.bytes("raw"))
                guard let record = sample.record(received: context.now, zone: context.zone.id) else { continue }
                try body(last, record)
            }
        }
    }

    // MARK: - Samples of other programs

    /// Values of `deletedWith`: the cause of a deletion. The same cause can revert it.
    private static let (byExport, byBottle) = ("export", "bottle")

    /// Removes known samples of other programs, and updates the drinks of an older export of the same source.
    private func mergeOtherPrograms(
        _ outcome: inout ImportOutcome, _ exportedAt: Instant?, _ context: WriteContext, _ calendar: DayCalendar,
        _ db: Database
    ) throws {
        let source = DatabaseFunction("waterh_source", argumentCount: 1, pure: true) { values in
            String.fromDatabaseValue(values[0]).flatMap(HealthSample.source)
        }
        db.add(function: source)
        defer { db.remove(function: source) }
        let sources = try exportedAt.map { try Self.newerSources($0, db) } ?? []
        let days = try exportedAt.flatMap { try Self.days(through: $0, calendar, db) }
        for name in try String.fetchAll(db, sql: "SELECT DISTINCT origin FROM temp.sample WHERE origin IS NOT NULL")
        where excludedSources.contains(Self.folded(name)) {
            try db.execute(sql: "DELETE FROM temp.sample WHERE origin = ?", arguments: [name])
            outcome.excluded += db.changesCount
        }
        outcome.fromBottle = try removeBottleDrinks(context, db)
        guard let exportedAt, let days else { return }
        try db.execute(sql: "CREATE INDEX temp.sample_foreign ON sample (key) WHERE origin IS NOT NULL")
        for name in sources {
            try replaceOlder(name, days, &outcome, context, db)
            try Counter.set("healthSource." + name, Int(exportedAt.milliseconds), db)
        }
    }

    /// The sources for which this export is newer than the last imported one.
    private static func newerSources(_ exportedAt: Instant, _ db: Database) throws -> [String] {
        try String.fetchAll(
            db, sql: "SELECT DISTINCT origin FROM temp.sample WHERE origin <> '' AND key GLOB 'health|*'"
        ).filter { try Counter.value("healthSource." + $0, db) <= Int(exportedAt.milliseconds) }
    }

    /// The days that an export covers: from its first sample by another program to the time of the export.
    private static func days(through exportedAt: Instant, _ calendar: DayCalendar, _ db: Database) throws -> (
        first: LocalDay, last: LocalDay
    )? {
        let row = try Row.fetchOne(
            db, sql: "SELECT min(instant), max(instant) FROM temp.sample WHERE origin IS NOT NULL")
        guard let row, let first: Instant = try row.decode(atIndex: 0), let last: Instant = try row.decode(atIndex: 1)
        else { return nil }
        return (calendar.day(of: first), calendar.day(of: max(exportedAt, last)))
    }

    /// Replaces the drinks of an older export, except those that the user changed.
    private func replaceOlder(
        _ name: String, _ days: (first: LocalDay, last: LocalDay), _ outcome: inout ImportOutcome,
        _ context: WriteContext, _ db: Database
    ) throws {
        let now = context.now
        let isInFile =
            "EXISTS (SELECT 1 FROM temp.sample AS s WHERE s.key = drink.key AND s.origin IS NOT NULL)"
        try db.execute(
            sql: """
                UPDATE drink SET deleted = 0, deletedWith = NULL, updatedAt = ?
                WHERE key GLOB 'health|*' AND deletedWith = ? AND waterh_source(key) = ? AND \(isInFile)
                """, arguments: [now, Self.byExport, name])
        try db.execute(
            sql: """
                UPDATE drink SET deleted = 1, deletedWith = ?, updatedAt = ?
                WHERE key GLOB 'health|*' AND deleted = 0 AND localDay BETWEEN ? AND ? AND waterh_source(key) = ?
                    AND NOT \(isInFile)
                """, arguments: [Self.byExport, now, days.first, days.last, name])
        outcome.removed += db.changesCount
        // Omit samples at the time of a drink that the user corrected or deleted: they are the original of that drink.
        try db.execute(
            sql: """
                DELETE FROM temp.sample WHERE origin = ?
                    AND NOT EXISTS (SELECT 1 FROM drink WHERE drink.key = sample.key)
                    AND EXISTS (
                        SELECT 1 FROM drink WHERE drink.instant = sample.instant AND deleted = 1 AND deletedWith IS NULL
                            AND key GLOB 'health|*' AND waterh_source(key) = ? AND NOT \(isInFile))
                """, arguments: [name, name])
    }

    /// Removes samples of the same minute and amount as a bottle's drink; each drink matches one sample of each source.
    /// - Returns: the number of removed samples.
    private func removeBottleDrinks(_ context: WriteContext, _ db: Database) throws -> Int {
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT s.rowid AS sample, s.key, s.origin, s.ml, d.id, d.ml AS drinkMl
                FROM temp.sample AS s JOIN drink AS d
                    ON d.instant BETWEEN s.instant - s.instant % 60000 AND s.instant - s.instant % 60000 + 59999
                WHERE s.origin IS NOT NULL AND (d.bottle IS NOT NULL OR d.source = 'bottle') AND d.correctionOf IS NULL
                ORDER BY s.rowid, abs(d.ml - s.ml), abs(d.instant - s.instant)
                """)
        var (matched, used): ([Int64: String], Set<String>) = ([:], [])
        while let row = try rows.next() {
            let (sample, origin): (Int64, String) = (
                try row.decode(forColumn: "sample"), try row.decode(forColumn: "origin")
            )
            let match = "\(try row.decode(Int64.self, forColumn: "id")) \(origin)"
            guard matched[sample] == nil, !used.contains(match),
                HealthFiles.isSameAmount(try row.decode(forColumn: "drinkMl"), try row.decode(forColumn: "ml"))
            else { continue }
            matched[sample] = try row.decode(forColumn: "key")
            used.insert(match)
        }
        for (sample, key) in matched {
            try db.run("DELETE FROM temp.sample WHERE rowid = ?", [sample])
            // The drink was imported before the bottle delivered it.
            try db.run(
                "UPDATE drink SET deleted = 1, deletedWith = ?, updatedAt = ? WHERE key = ? AND deleted = 0",
                [Self.byBottle, context.now, key])
        }
        return matched.count
    }
}
