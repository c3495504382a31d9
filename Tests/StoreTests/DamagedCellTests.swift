import Foundation
import GRDB
import GatewaySupport
import Support
import Testing
import TrackerCore

@testable import Store

/// A damaged page can contain values that the schema forbids: NULL, or a blob instead of a text or a number. No query
/// may trap.
@Suite final class DamagedCellTests: ScratchFixture {
    /// A store with rows in every table of a day, and a schema without constraints, as a damaged page can have.
    private func template() throws -> [(table: String, column: String)] {
        do { try TrackerStore(path: scratch.store).fill() }
        return try scratch.withDatabase { db in
            let names = try String.fetchAll(
                db,
                sql:
                    """
                    SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> \
                    'grdb_migrations' ORDER BY name
                    """
            )
            var columns: [(table: String, column: String)] = []
            for name in names where try Int.fetchOne(db, sql: "SELECT count(*) FROM \(name)") ?? 0 > 0 {
                columns += try Row.fetchAll(db, sql: "SELECT name FROM pragma_table_info(?)", arguments: [name]).map {
                    (name, try $0.decode(forColumn: "name"))
                }
            }
            try db.execute(
                sql: """
                    PRAGMA writable_schema = ON;
                    UPDATE sqlite_schema SET sql = replace(replace(replace(replace(sql, ' NOT NULL', ''), ', STRICT', \
                    ''), 'STRICT, ', ''), ') STRICT', ')') WHERE type = 'table';
                    PRAGMA writable_schema = RESET;
                    """)
            return columns
        }
    }

    /// Runs the queries and the next user actions; each can throw.
    private func useAll(_ store: TrackerStore) throws -> Int {
        let now = try context("2026-02-02T23:00:00Z"), bottle = "A4:C1:38:00:00:01"
        let today = DayCalendar(zone: now.zone, boundaryHour: 4).day(of: now.now)
        let calls: [() throws -> Any] = [
            { try store.preview(now) }, { try store.evaluate(now) }, { try store.facts(now) },
            { try store.history(from: today.adding(days: -40), through: today) },
            { try store.streak(today: today) }, { try store.allDrinks() }, { try store.lastDrink() as Any },
            { try store.activeSession(at: now.now) as Any },
            { try store.pastSessions(limit: 9) }, { try store.tokens() }, { try store.notifications() },
            { try store.bottles() },
            { try store.storedState(of: BottleNames(bottle)) }, { try store.outbox() }, { try store.syncReport() },
            { try store.quarantinedBytes() },
            { try store.quarantinedRecords() }, { try store.quarantineReasons() }, { try store.journalCounts() },
            { try store.journalRecord(1) as Any },
            {
                try store.reviewableRecords(of: bottle, reading: "calendar/u16be", after: 0, limit: 9)
            },
            { try store.forEachWireEntry(gateway: "g") { _ in } }, { try store.forEachDrink { _, _, _ in } },
            { try store.changes(for: "mqtt", limit: 9) },
            { try store.settings(ofBottle: bottle) }, { try store.presets() }, { try store.profile() as Any },
            { try store.storedState(of: BottleNames(bottle)) },
            { try store.drinks(named: "d1") }, { try store.rowCounts() }, { try store.integrityProblems() },
            { try store.undo(now) }, { try store.append([entry(), entry(second: 58)]) },
            { try store.append([entry(verdict: .quarantined(reason: "bottleClock"))]) },
            { try store.logDrink(ml: 100, now) }, { try store.undo(now) }, { try store.undo(now) },
            { try store.editDrink("d1", ml: 20, now) }, { try store.startSession(now) },
            { try store.addLog(.water(oz: 8), now) }, { try store.endSession(now) },
            { try store.resetToday(now) }, { try store.changeSettings([("hydration.goalMl", "2100")], now) },
            { try store.importEntries([]) },
        ]
        return calls.count { (try? $0()) == nil }
    }

    @Test(arguments: ["NULL", "X'FF00'"])
    func `damaged cells do not trap`(value: String) throws {
        let columns = try template()
        #expect(columns.count > 80)
        let complete = try Data(contentsOf: URL(fileURLWithPath: scratch.store))
        var errors = 0
        for (table, column) in columns {
            try? FileManager.default.removeItem(atPath: scratch.path)
            try FileManager.default.createDirectory(atPath: scratch.path, withIntermediateDirectories: true)
            try complete.write(to: URL(fileURLWithPath: scratch.store))
            try scratch.withDatabase { db in
                try db.execute(sql: "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON")
                try? db.execute(sql: "UPDATE OR IGNORE \(table) SET \(column) = \(value)")
            }
            guard let store = try? TrackerStore(path: scratch.store) else { continue }
            errors += try useAll(store)
        }
        #expect(errors > 0)
    }
}
