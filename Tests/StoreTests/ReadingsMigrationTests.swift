import Foundation
import GRDB
import GatewaySupport
import Testing
import TrackerCore

@testable import Store

/// Stores that were written before a record had one row whatever the dialect.
@Suite struct ReadingsMigrationTests {
    let scratch: ScratchStore

    init() throws { scratch = try ScratchStore() }

    /// A store of the first two steps, with rows of their time.
    private func old(_ sql: String) throws {
        let queue = try DatabaseQueue(path: scratch.path)
        try queue.write { db in
            for step in Schema.migrations.prefix(2) {
                try db.execute(sql: step.sql)
                try db.execute(sql: "INSERT INTO migration (name) VALUES (?)", arguments: [step.name])
            }
            try db.execute(sql: "PRAGMA application_id = \(Schema.applicationID)")
            try db.execute(sql: "PRAGMA user_version = 2")
            try db.execute(sql: sql)
        }
        try queue.close()
    }

    @Test func `refused records leave the junk and become records; the others stay`() throws {
        try old(
            """
            INSERT INTO bottle (id, origin, name) VALUES (1, 'b1', 'b1');
            INSERT INTO bottle_name (name, bottle) VALUES ('b1', 1);
            INSERT INTO setting (name, value) VALUES ('bottle.recordDialect', 'strict');
            INSERT INTO quarantine (bottle, bytes, length, reason, received, times) VALUES
                ('b1', x'1B0105140000012C0000016100', 13, 'a record that the strict dialect refuses: whatever', 1000, \
            1),
                ('b1', x'0102', 2, 'no frame', 1000, 1);
            """)
        let store = try TrackerStore(path: scratch.path)
        #expect(try store.journalCounts().quarantined == 1)
        #expect(try store.quarantinedBytes().map(\.bytes) == [[1, 2]])
        let waiting = try store.unsettled(of: "b1", reading: "calendar/u16be", after: 0, limit: 10)
        #expect(waiting.map(\.doubt) == [JournalDoubt.refused])
        let dated = JournalEntry(
            bottle: "b1", raw: waiting[0].raw, wall: WallTime("2027-01-05T20:00:00"), amountMl: 300,
            received: Instant(seconds: 1_799_200_000),
            verdict: .drink(at: try #require(Instant(iso: "2027-01-05T20:00:00Z")), zone: "UTC"),
            reading: "calendar/u16be")
        #expect(try store.append([dated]) == [.promoted])
        #expect(try store.append([dated]) == [.duplicate])
    }

    @Test func `a drink of an old store read in another dialect is changed, not doubled`() throws {
        try old(
            """
            INSERT INTO bottle (id, origin, name) VALUES (1, 'b1', 'b1');
            INSERT INTO bottle_name (name, bottle) VALUES ('b1', 1);
            INSERT INTO setting (name, value) VALUES ('bottle.recordDialect', 'strict');
            INSERT INTO bottle_record (bottle, raw, wall, amountMl, isDrink, verdict, received)
                VALUES (1, x'1A0202140000012C0000016100', '2026-02-02T20:00:00', 44, 1, 'drink', 1770070875000);
            INSERT INTO bottle_record (bottle, raw, wall, amountMl, isDrink, verdict, reason, received)
                VALUES (1, x'1A020214000100000000016100', '2026-02-02T20:00:01', 0, 0, 'notADrink', 'zero', \
            1770070875000);
            INSERT INTO drink (key, instant, zone, localDay, ml, source, bottle, updatedAt)
                VALUES ('b1|2026-02-02T20:00:00|44', 1770062400000, 'UTC', '2026-02-02', 44, 'bottle', 1, 0);
            """)
        let store = try TrackerStore(path: scratch.path)
        let rows = try store.unsettled(of: "b1", reading: "calendar/u16be", after: 0, limit: 10)
        #expect(rows.count == 2)
        var drink = entry("b1", ml: 300)
        drink.raw = rows[0].raw
        drink.wall = WallTime("2026-02-02T20:00:00")
        drink.verdict = .drink(at: Instant(milliseconds: 1_770_062_400_000), zone: "UTC")
        drink.reading = "calendar/u16be"
        var zero = drink
        zero.raw = rows[1].raw
        zero.wall = WallTime("2026-02-02T20:00:01")
        zero.amountMl = 0
        zero.verdict = .notADrink(reason: "zero")
        #expect(try store.append([drink, zero]) == [.duplicate, .duplicate])
        #expect(try store.drinks(on: #require(LocalDay("2026-02-02"))).map(\.ml) == [300])
        #expect(try store.unsettled(of: "b1", reading: "calendar/u16be", after: 0, limit: 10).isEmpty)
    }

    @Test func `a bottle known by its alias alone gets its address when it answers`() throws {
        try old(
            """
            INSERT INTO bottle (id, origin, name, lastPoll) VALUES (1, 'kitchen', 'kitchen', 5000);
            INSERT INTO bottle_name (name, bottle) VALUES ('kitchen', 1);
            INSERT INTO setting (name, value) VALUES ('bottle.alias', 'kitchen');
            """)
        let store = try TrackerStore(path: scratch.path)
        #expect(
            try store.recall(BottleNames("A4:C1:38:00:00:01", alias: "kitchen")).newestReceipt == Instant(seconds: 5))
        try store.adopt(BottleNames("A4:C1:38:00:00:01", alias: "kitchen"))
        let bottle = try #require(try store.bottles().first)
        #expect(bottle.identities == ["A4:C1:38:00:00:01"] && bottle.name == "kitchen")
        try store.adopt(BottleNames("A4:C1:38:00:00:02", alias: "kitchen"))
        #expect(try store.bottles().map(\.name) == ["kitchen", "A4:C1:38:00:00:02"])
        // Where the alias was unset before: a person says who it is.
        #expect(throws: Refusal.self) { try store.adoptBottle("A4:C1:38:00:00:02", as: "kitchen") }
        #expect(try store.adoptBottle("A4:C1:38:00:00:03", as: "kitchen"))
        #expect(try store.bottles()[0].identities == ["A4:C1:38:00:00:01", "A4:C1:38:00:00:03"])
    }
}
