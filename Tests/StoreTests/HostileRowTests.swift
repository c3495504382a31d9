import Foundation
import GRDB
import GatewaySupport
import Support
import Testing
import TrackerCore

@testable import Store

/// Rows that no program of ours writes: nothing traps, nothing is computed from them, the doctor names them.
@Suite struct HostileRowTests {
    let scratch: ScratchStore

    init() throws { scratch = try ScratchStore() }

    private func tampered(_ sql: String) throws -> TrackerStore {
        do {
            let store = try TrackerStore(path: scratch.path)
            _ = try store.append([entry(), entry(ml: 40)])
            _ = try store.logDrink(ml: 330, try context("2026-02-02T22:40:00Z"))
            _ = try store.startSession(try context("2026-02-02T22:30:00Z"))
            _ = try store.addLog(.drink(), try context("2026-02-02T22:35:00Z"))
            _ = try store.finishOnboarding(try context("2026-02-02T22:30:00Z"))
            try store.changeSettings(
                [("hydration.goalMl", "2000"), ("sync.url", "http://127.0.0.1:9")], try context("2026-02-02T22:30:00Z"))
            _ = try store.addToken("t", label: "l", try context("2026-02-02T22:30:00Z"))
            _ = try store.evaluate(try context("2026-02-02T22:41:00Z"), sinks: [])
        }
        let raw = try DatabaseQueue(path: scratch.path)
        try raw.writeWithoutTransaction { try $0.execute(sql: sql) }
        try raw.close()
        return try TrackerStore(path: scratch.path)
    }

    /// Everything that reads, and what a person does next.
    private func useAll(_ store: TrackerStore) throws {
        let now = try context("2026-02-02T23:00:00Z")
        _ = try store.look(now)
        _ = try store.evaluate(now, sinks: [])
        _ = try store.facts(now)
        let today = DayCalendar(zone: now.zone, boundaryHour: 4).day(of: now.now)
        _ = try store.history(from: today.adding(days: -40), through: today)
        _ = try store.streak(today: today)
        _ = try store.allDrinks()
        _ = try store.lastDrink()
        _ = try store.activeSession(at: now.now)
        _ = try store.pastSessions(limit: 9)
        _ = try store.tokens()
        _ = try store.notifications()
        _ = try store.bottles()
        _ = try store.lastCompletePoll(of: "A4:C1:38:00:00:01")
        _ = try store.outbox()
        _ = try? store.undo(now)
        _ = try store.append([entry(second: 59)])
        _ = try store.logDrink(ml: 100, now)
        _ = try store.startSession(now)
        _ = try store.endSession(now)
    }

    /// A row of the settings that the rules refuse counts as unsaid in every question: a sip's day used to be frozen by
    /// another hour than the one that the day is shown by, and a zone that is none stopped every poll.
    @Test(arguments: [
        ("day.boundaryHour", "6", "2026-02-01"), ("day.boundaryHour", "9", "2026-02-02"),
        ("day.boundaryHour", "5x", "2026-02-02"), ("day.zone", "Nowhere/No", "2026-02-02"),
    ])
    func aSettingThatIsNoneCountsAsUnsaid(name: String, value: String, day: String) throws {
        let store = try tampered(
            "DELETE FROM setting; INSERT INTO setting (name, value) VALUES ('\(name)', '\(value)')")
        // Five in the morning: behind the boundary of four, and before that of six.
        _ = try store.append([entry(hour: 5)])
        _ = try store.logDrink(ml: 70, try context("2026-02-02T05:10:00Z"))
        let noon = try context("2026-02-02T12:00:00Z").now
        let days = try store.allDrinks().filter { $0.at < noon }.map(\.localDay.description)
        #expect(days == [day, day])
    }

    @Test(arguments: [Int64.min, Int64.min + 1, -62_135_596_800_001, 253_402_300_800_000, Int64.max - 1, .max])
    func instantsNearTheEndsAreLeftOut(_ instant: Int64) throws {
        for (table, column) in [
            ("drink", "instant"), ("drink", "updatedAt"), ("session", "startTime"), ("log_entry", "timestamp"),
            ("log_entry", "updatedAt"),
            ("token", "createdAt"), ("token", "revokedAt"), ("profile", "onboardedAt"), ("bottle", "lastPoll"),
            ("bottle", "lastCompletePoll"),
        ] {
            try? FileManager.default.removeItem(at: scratch.directory)
            try FileManager.default.createDirectory(at: scratch.directory, withIntermediateDirectories: true)
            let store = try tampered(
                "UPDATE \(table) SET \(column) = \(instant) WHERE rowid = (SELECT min(rowid) FROM \(table))"
                    .replacing("rowid", with: ["token", "profile"].contains(table) ? "id" : "rowid"))
            let unreadable = try store.unreadableRows()
            #expect(
                unreadable.count == 1 && unreadable[0].table == table && unreadable[0].reason.contains(column),
                "\(table).\(column): \(unreadable)")
            #expect(try store.drinksOutOfTime() == (table == "drink" && column == "instant" ? 1 : 0))
            if table == "profile" {
                // The user of this store is unknown: said, not guessed.
                #expect(throws: StoreError.self) { try useAll(store) }
            } else {
                try useAll(store)
            }
        }
    }

    @Test(arguments: [
        "ml = -5", "ml = 9223372036854775807", "ml = -9223372036854775808", "localDay = 'yesterday'",
        "localDay = '2026-02-30'",
    ])
    func amountsAndDaysThatCannotBeAreLeftOut(_ change: String) throws {
        let store = try tampered("UPDATE drink SET \(change) WHERE ml = 40")
        #expect(try store.unreadableRows().map(\.table) == ["drink"])
        #expect(try store.allDrinks().map(\.ml).sorted() == [16, 330])
        let day = try #require(LocalDay("2026-02-02"))
        #expect(
            try store.totals(from: day, through: day).map(\.totalMl) == [346],
            "the days' totals leave out the same rows")
        try useAll(store)
    }

    @Test(arguments: [
        ("log_entry", "amountOz = 1e300"), ("log_entry", "amountOz = 9e999"),
        ("log_entry", "standardDrinkEstimate = -1e300"),
        ("log_entry", "sizeOz = -9e999"), ("session", "ruleN = 0"), ("session", "ruleN = 9223372036854775807"),
        ("preset", "sizeOz = 1e300"),
        ("preset", "standardDrinkEstimate = 9e999"), ("day", "goalMl = 9223372036854775807"),
        ("day", "goalMl = -9223372036854775808"),
    ])
    func amountsThatNobodyCanReckonWithAreLeftOut(_ table: String, _ change: String) throws {
        let store = try tampered("UPDATE \(table) SET \(change)")
        #expect(try store.unreadableRows().contains { $0.table == table })
        #expect(try store.presets().count == (table == "preset" ? 0 : 5))
        try useAll(store)
    }

    @Test(arguments: [-1, -2_147_483_648, 0, 1, 2_147_483_647])
    func aSchemaNumberThatCannotBeIsSaid(_ version: Int) throws {
        let error = #expect(throws: StoreError.self) { _ = try tampered("PRAGMA user_version = \(version)") }
        #expect(version >= 0 || error?.kind == .damaged && error?.what.contains("\(version)") == true)
        #expect(throws: StoreError.self) { _ = try TrackerStore(path: scratch.path, for: .looking) }
    }
}
