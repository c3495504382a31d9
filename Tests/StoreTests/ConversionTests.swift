import Foundation
import GRDB
import Support
import Synchronization
import Testing
import TrackerCore

@testable import Store

@Suite struct ConversionTests {
    let scratch: TemporaryFolder
    let removed = ["gotify.token", "gotify.url", "notify.tray", "push.contact", "webhook.templateFile"]

    init() async throws {
        scratch = try TemporaryFolder()
        try await Release09Store.unpack(to: scratch.store)
    }

    private func version(_ path: String? = nil) throws -> Int? {
        try scratch.withDatabase(path) { try Int.fetchOne($0, sql: "PRAGMA user_version") }
    }

    /// The rows of all tables, with the columns that both versions have, by their current names.
    private func rows(_ db: Database) throws -> [String: [String]] {
        let model = try TrackerStore(inMemory: nil)
        let isOld = try Int.fetchOne(db, sql: "PRAGMA user_version") == Schema.release09
        return try Dictionary(
            uniqueKeysWithValues: (Schema.tableNames + ["sqlite_sequence"]).map { table in
                let columns = try model.read { try Schema.columns(of: table, $0) }
                    .filter { !Schema.addedColumns.contains($0) && $0 != "decision" }
                    .map { isOld ? "\(Schema.oldColumnNames[table]?[$0] ?? $0) AS \($0)" : $0 }
                let name = isOld ? Schema.oldTableNames[table] ?? table : table
                let found = try Row.fetchAll(db, sql: "SELECT \(columns.joined(separator: ", ")) FROM \(name)")
                return (
                    table,
                    found.map { $0.description.replacing("pocket_message", with: "queued_notification") }.sorted()
                )
            })
    }

    private func amounts(_ db: Database) throws -> [Int64: Int] {
        let rows = try Row.fetchAll(db, sql: "SELECT id, ml FROM drink WHERE deleted = 0")
        return try Dictionary(
            uniqueKeysWithValues: rows.map { (try $0.decode(forColumn: "id"), try $0.decode(forColumn: "ml")) })
    }

    private func expectDrinks(_ store: TrackerStore) throws {
        let drinks = try store.read(amounts)
        #expect(drinks.count == 3964)
        #expect(drinks.values.reduce(0, +) == 1_053_616)
        // The corrected drink, and those that were corrected, deleted and undone.
        #expect(drinks[3967] == 175)
        #expect(drinks[3950] == nil && drinks[3951] == nil && drinks[3966] == nil)
    }

    private func expectNoLoss(_ store: TrackerStore, since before: [String: [String]]) throws {
        var (before, after) = (before, try store.read(rows))
        let settings = before.removeValue(forKey: "setting") ?? []
        let left = after.removeValue(forKey: "setting") ?? []
        #expect(Set(left).isSubset(of: settings) && settings.count - left.count == removed.count)
        for (table, rows) in before { #expect(after[table] == rows, "\(table)") }
        let positions = "SELECT position FROM notification WHERE decision IS NOT NULL ORDER BY position"
        #expect(try store.deliveries(after: 0).map(\.position) == store.read { try Int64.fetchAll($0, sql: positions) })
        #expect(try store.integrityProblems().isEmpty)

        try expectDrinks(store)
        let days = try store.totals(from: #require(LocalDay("2026-11-16")), through: #require(LocalDay("2026-11-22")))
        #expect(days.map(\.totalMl).filter { $0 > 0 } == [2380, 1980, 4070, 3896, 550])
        #expect(try store.journalCounts().drinks == 40)
        #expect(try store.tokens().map(\.label).sorted() == ["old", "phone"])
        #expect(try store.presets().count == 5 && store.pastSessions(limit: 9).count == 1)
        let kept = try store.settings()
        #expect(kept.goalMl == 2200)
        #expect(kept.value(of: "ntfy.url")?.text == "https://ntfy.example/topic")
        #expect(kept.value(of: "webhook.url")?.text == "http://hook.example/x")
        #expect(kept.value(of: "reminders.engine")?.text == "adaptive")
    }

    @Test func `a conversion keeps all rows, and the schema equals that of a new store`() throws {
        let before = try scratch.withDatabase(nil, rows)
        let store = try TrackerStore(path: scratch.store)
        #expect(store.fileState == .store && store.removedSettings == removed)
        try expectNoLoss(store, since: before)
        func schema(_ db: Database) throws -> [String] {
            try String.fetchAll(db, sql: "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY sql")
        }
        #expect(try store.read(schema) == TrackerStore(path: scratch.store + "-new").read(schema))
        #expect(try store.read(Schema.statements) == Schema.tables)
        #expect(try version() == Schema.version)
        // The positions continue after those of 0.9.
        let last = try store.read { try Int64.fetchOne($0, sql: "SELECT max(position) FROM drink") ?? 0 }
        _ = try store.logDrink(ml: 100, context("2026-11-22T22:00:00Z"))
        #expect(try store.read { try Int64.fetchOne($0, sql: "SELECT max(position) FROM drink") } == last + 1)
        #expect(try store.read(amounts)[3968] == 100)
        #expect(try TrackerStore(path: scratch.store).removedSettings.isEmpty)

        // The copy is a store of 0.9 with owner-only permissions.
        let copy = StoreCopy.beforeConversion(of: scratch.store)
        #expect(try version(copy) == Schema.release09 && scratch.withDatabase(copy, rows) == before)
        #expect(mode(copy) == 0o600)
        try store.removeWrittenFiles()
        #expect(!FileManager.default.fileExists(atPath: copy), "a purge deletes it")
    }

    @Test func `records of 0.9 are known after a conversion`() throws {
        let store = try TrackerStore(path: scratch.store)
        let entries = try scratch.withDatabase { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT b.name, r.raw, r.wall, r.amountMl, r.reading, d.instant
                    FROM bottle_record r JOIN bottle b ON b.id = r.bottle
                    JOIN drink d ON d.key = b.origin || '|' || r.wall || '|' || r.amountMl
                    """
            ).map { row in
                JournalEntry(
                    bottle: try row.decode(forColumn: "name"),
                    raw: [UInt8](try row.decode(Data.self, forColumn: "raw")),
                    wall: WallTime(try row.decode(String.self, forColumn: "wall")),
                    amountMl: try row.decode(forColumn: "amountMl"), received: Instant(seconds: 1_795_400_000),
                    verdict: .drink(at: try row.decode(forColumn: "instant"), zone: "Europe/Berlin"),
                    reading: try row.decode(forColumn: "reading"))
            }
        }
        #expect(entries.count == 40)
        #expect(try store.append(entries) == entries.map { _ in .duplicate })
        #expect(try store.allDrinks().count == 3964)
    }

    @Test func `a reader converts a copy in memory and leaves the file unchanged`() throws {
        let before = try scratch.withDatabase(nil, rows)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: scratch.store))
        let store = try TrackerStore(path: scratch.store, for: .reading)
        #expect(store.fileState == .older)
        try expectNoLoss(store, since: before)
        #expect(throws: StoreError.self) { _ = try store.logDrink(ml: 1, context("2026-11-22T22:00:00Z")) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: scratch.store)) == bytes)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == ["waterh.sqlite"])
    }

    @Test func `a backup of 0.9 is converted when it is restored`() throws {
        let before = try scratch.withDatabase(nil, rows)
        let other = try TrackerStore(path: scratch.store + "-other")
        #expect(try other.restore(from: scratch.store, scratch: scratch.path).removedSettings == removed)
        #expect(try version() == Schema.release09)
        try expectDrinks(other)
        let after = try other.read(rows)
        for table in ["bottle_record", "session", "log_entry", "preset", "day", "change"] {
            #expect(after[table] == before[table], "\(table)")
        }
        #expect(try other.tokens().isEmpty)
    }

    @Test func `a conversion that is killed leaves the old store or the new one`() throws {
        let (path, scratch) = (scratch.store, scratch)
        let copies = Mutex<[String]>([]), statements = Mutex(0)
        _ = try TrackerStore(
            path: path, hostZone: nil,
            beforeStatement: { _ in
                let number = statements.withLock {
                    $0 += 1; return $0
                }
                guard number % 25 == 0 else { return }
                let copy = scratch.file("kill-\(number).sqlite")
                for suffix in ["", "-wal"] {
                    try? FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
                }
                copies.withLock { $0.append(copy) }
            })
        let found = copies.withLock { $0 }
        #expect(found.count > 5)
        for copy in found {
            let left = try #require(try version(copy))
            #expect([Schema.release09, Schema.version].contains(left))
            let sum = "SELECT sum(ml) FROM drink WHERE deleted = 0"
            #expect(try scratch.withDatabase(copy) { try Int.fetchOne($0, sql: sum) } == 1_053_616)
        }
        for copy in found.suffix(2) {
            #expect(try TrackerStore(path: copy).allDrinks().count == 3964)
        }
    }

    @Test func `two processes convert a store at once`() async throws {
        let path = scratch.store
        let counts = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<2 { group.addTask { try TrackerStore(path: path).allDrinks().count } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(counts == [3964, 3964])
    }

    @Test func `a store that cannot be copied is not converted`() throws {
        let copy = StoreCopy.beforeConversion(of: scratch.store) + ".new"
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: false)
        let error = #expect(throws: StoreError.self) { _ = try TrackerStore(path: scratch.store) }
        #expect(error?.cause.contains("Writing or deleting a copy of the store failed") == true)
        #expect(try version() == Schema.release09)
        try FileManager.default.removeItem(atPath: copy)
        #expect(try TrackerStore(path: scratch.store).allDrinks().count == 3964)
    }

    @Test(arguments: [
        "ALTER TABLE bottle DROP COLUMN model", "DROP TABLE day", "DROP TABLE migration",
        "CREATE TABLE grdb_migrations (identifier TEXT)",
    ])
    func `a damaged store of 0.9 is rejected and stays unchanged`(_ sql: String) throws {
        try scratch.withDatabase { try $0.execute(sql: sql) }
        for purpose in [TrackerStore.Access.writing, .reading] {
            let error = #expect(throws: StoreError.self) { _ = try TrackerStore(path: scratch.store, for: purpose) }
            #expect(error?.code == "schemaIsWrong", "\(String(describing: error))")
        }
        #expect(try version() == Schema.release09)
        let sum = try scratch.withDatabase { try Int.fetchOne($0, sql: "SELECT sum(ml) FROM drink WHERE deleted = 0") }
        #expect(sum == 1_053_616)
    }

    @Test func `a store of an unreleased version is rejected`() throws {
        try scratch.withDatabase { try $0.execute(sql: "PRAGMA user_version = 29") }
        for purpose in [TrackerStore.Access.writing, .reading] {
            let error = #expect(throws: StoreError.self) { _ = try TrackerStore(path: scratch.store, for: purpose) }
            #expect(error?.code == "schemaIsTooOld" && error?.cause.contains("update it with 0.9 first") == true)
        }
        #expect(try version() == 29)
    }

    @Test func `a broker's password is not kept with its address`() throws {
        let broker = #"{"password":"secret","url":"mqtt://h:1883"}"#
        try scratch.withDatabase { db in
            try db.execute(
                sql: """
                    INSERT INTO outlet (name, id, position, place) VALUES ('mqtt', 'm', 0, :broker);
                    INSERT INTO leaving (place, id, topic) VALUES (:broker, 'old', 't'), ('', 'old', 'u');
                    INSERT INTO outlet_topic (outlet, topic) VALUES ('mqtt', 'v')
                    """, arguments: ["broker": broker])
        }
        let store = try TrackerStore(path: scratch.store)
        #expect(
            try store.staleTopics() == [
                StaleTopics(brokerAddress: "", id: "old", topics: ["u"]),
                StaleTopics(brokerAddress: "mqtt://h:1883", id: "old", topics: ["t"]),
            ])
        #expect(try store.read { try String.fetchOne($0, sql: "SELECT address FROM publisher") } == "mqtt://h:1883")
        #expect(try store.retainedTopics(of: "mqtt") == ["v"])
    }

    @Test func `publishers of removed features keep no changes`() throws {
        try scratch.withDatabase { db in
            try db.execute(
                sql: """
                    INSERT INTO outlet (name, id, position, peer) VALUES ('fleet', 'f', 0, 'p');
                    INSERT INTO drink_change (key) VALUES ('k');
                    INSERT INTO pocket_message (outlet, id, place, announcement, since, state, key)
                        VALUES ('gotify', 'i', 'pace', '{}', 1, 'waiting', 'k1'),
                            ('ntfy', 'i', 'pace', '{}', 1, 'waiting', 'k2');
                    CREATE VIEW litres AS SELECT ml / 1000.0 AS l FROM drink
                    """)
        }
        let store = try TrackerStore(path: scratch.store)
        _ = try store.logDrink(ml: 100, context("2026-11-22T22:00:00Z"))
        let counts = Dictionary(uniqueKeysWithValues: try store.rowCounts().map { ($0.table, $0.rows) })
        #expect(counts["publisher"] == 0 && counts["drink_change"] == 0 && counts["queued_notification"] == 1)
        #expect(try store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM litres") } == 3968)
    }
}
