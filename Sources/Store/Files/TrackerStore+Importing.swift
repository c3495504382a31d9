import GRDB
import TrackerCore

/// What an import changed.
public struct ImportOutcome: Hashable, Sendable {
    public var added = 0
    /// Known already: by our own key, or by start, value and source.
    public var known = 0
    /// Samples of 0 ml, which are no drinks.
    public var empty = 0
}

extension TrackerStore {
    /// Every counted drink, oldest first.
    public func allDrinks() throws -> [Drink] {
        var drinks: [Drink] = []
        try forEachDrink { drinks.append($0) }
        return drinks
    }

    /// Hands out every counted drink, oldest first, as it is read: what an export writes, of one state of the store.
    public func forEachDrink(_ body: (Drink) throws -> Void) throws {
        try read { db in
            try Row.fetchCursor(db, sql: "SELECT * FROM drink WHERE deleted = 0 AND ml > 0 ORDER BY instant, key").forEachDrink(body)
        }
    }

    /// Takes samples in: all of them, or none (tracker law D4).
    ///
    /// A sample of ours keeps its key, so that a store restored from an export knows the bottle's records again and a
    /// deleted drink stays deleted; where the file says its zone, day and source, it keeps those too. A foreign one is known
    /// by start, value and source: a file read twice adds nothing.
    /// - Parameter produce: hands over the samples one by one; what it throws, too, leaves the store as it was. However long
    ///   it takes, nobody waits: until the last one has come they lie aside, in a temporary table.
    public func importSamples(_ context: WriteContext, _ produce: (_ take: (HealthSample) throws -> Void) throws -> Void) throws -> ImportOutcome {
        try writeWithoutTransaction { db in
            var outcome = ImportOutcome()
            try db.execute(sql: "PRAGMA temp_store = FILE; \(ImportTable.sql)")
            defer { try? db.execute(sql: "DROP TABLE temp.sample") }
            try db.inTransaction(.deferred) {
                let table = try ImportTable(db)
                try produce { sample in
                    if sample.ml > 0 { try table.add(sample) } else { outcome.empty += 1 }
                }
                return .commit
            }
            try db.inTransaction(.immediate) {
                try ImportTable.land(&outcome, context, dayCalendar(context.zone, db), db)
                return .commit
            }
            return outcome
        }
    }

    public func importSamples(_ samples: [HealthSample], _ context: WriteContext) throws -> ImportOutcome {
        try importSamples(context) { take in try samples.forEach(take) }
    }
}

extension RowCursor {
    /// Rows that no program of ours writes are left out, as everywhere; the doctor names them.
    func forEachDrink(_ body: (Drink) throws -> Void) throws {
        while let row = try next() {
            let drink: Drink
            do { drink = try StoredDrink(row: row).drink } catch is UnreadableRow { continue }
            try body(drink)
        }
    }
}

/// Samples on their way into the store.
private struct ImportTable {
    static let sql = """
        CREATE TEMPORARY TABLE sample (
            key TEXT NOT NULL, uuid TEXT, instant INTEGER NOT NULL, ml INTEGER NOT NULL, zone TEXT, localDay TEXT, source TEXT
        )
        """

    private let insert: Statement

    init(_ db: Database) throws {
        insert = try db.makeStatement(sql: "INSERT INTO temp.sample VALUES (?, ?, ?, ?, ?, ?, ?)")
    }

    func add(_ sample: HealthSample) throws {
        let key = sample.importKey
        try insert.execute(arguments: [
            key, sample.uuid == key ? nil : sample.uuid, sample.at.milliseconds, sample.ml, sample.zone, sample.day?.description, sample.source?.rawValue,
        ])
    }

    static func land(_ outcome: inout ImportOutcome, _ context: WriteContext, _ calendar: DayCalendar, _ db: Database) throws {
        let exists = try db.makeStatement(sql: "SELECT EXISTS (SELECT 1 FROM drink WHERE key = ?)")
        let insert = try db.makeStatement(sql: """
            INSERT INTO drink (key, instant, zone, localDay, ml, source, updatedAt) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING
            """)
        let rows = try Row.fetchCursor(db, sql: "SELECT key, uuid, instant, ml, zone, localDay, source FROM temp.sample ORDER BY rowid")
        while let row = try rows.next() {
            let at = Instant(milliseconds: row[2])
            let isKnown = try (row[1] as String?).map { try Bool.fetchOne(exists, arguments: [$0]) ?? false } ?? false
            if !isKnown {
                try insert.execute(arguments: [
                    row[0] as String, at.milliseconds, row[4] as String? ?? context.zone.id, row[5] as String? ?? calendar.day(of: at).description,
                    row[3] as Int, row[6] as String? ?? DrinkSource.health.rawValue, context.now.milliseconds,
                ])
            }
            if isKnown || db.changesCount == 0 { outcome.known += 1 } else { outcome.added += 1 }
        }
    }
}
