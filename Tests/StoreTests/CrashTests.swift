import Foundation
import GRDB
import GRDBSQLite
import GatewaySupport
import Support
import Synchronization
import Testing
import TrackerCore

@testable import Store

/// Copies the files before every SQL statement: the state after SIGKILL. The copy must show the state before or after
/// the write.
@Suite final class CrashTests: ScratchFixture {
    /// A named write.
    struct Step: CustomTestStringConvertible {
        var testDescription: String
        var run: @Sendable (TrackerStore) throws -> Void
    }

    static let steps: [Step] = [
        Step(testDescription: "append") { store in
            _ = try store.append([
                try sip("2026-02-03T10:00:00", 50), try sip("2026-02-03T10:05:00", 60, bottle: "b9"),
                entry(verdict: .quarantined(reason: "implausibleTimestamp")),
                try sip("2026-02-03T10:05:00", 60, bottle: "b9"),
            ])
        },
        Step(testDescription: "promote") { _ = try $0.append([entry("b2"), entry("b2", ml: 90)]) },
        Step(testDescription: "log") { _ = try $0.logDrink(ml: 250, try context()) },
        Step(testDescription: "edit") {
            _ = try $0.editDrink("b1|2026-02-03T09:00:00|100", ml: 5, try context())
        },
        Step(testDescription: "delete") {
            _ = try $0.deleteDrink("b1|2026-02-03T09:00:00|100", try context())
        },
        Step(testDescription: "reset today") { _ = try $0.resetToday(try context()) },
        Step(testDescription: "undo") { _ = try $0.undo(try context()) },
        Step(testDescription: "rename") { try $0.changeSettings([("bottle.alias", "kitchen")], ofBottle: "b1") },
        Step(testDescription: "poll") {
            try $0.finishPoll(PollRecord(bottle: "b7", name: "x", endedAt: Instant(seconds: 5), complete: true))
        },
        Step(testDescription: "settings") {
            try $0.changeSettings([("hydration.goalMl", "2000"), ("bottle.alias", "b1")], try context())
        },
        Step(testDescription: "session entry") {
            _ = try $0.addLog(.drink(), try context("2026-02-03T13:00:00Z", counted: true))
        },
        Step(testDescription: "session end") { _ = try $0.endSession(try context("2026-02-03T13:00:00Z")) },
        Step(testDescription: "late sip in an ended session") {
            _ = try $0.append([try sip("2026-02-03T08:30:00", 255)])
        },
        Step(testDescription: "onboarding") {
            _ = try $0.finishOnboarding(try context("2026-02-03T18:00:00Z", counted: true))
        },
        Step(testDescription: "import") {
            let sample = HealthSample(at: Instant(seconds: 1000), ml: 5)
            _ = try $0.importSamples([sample, HealthSample(at: Instant(seconds: 2000), ml: 6)], try context())
        },
        Step(testDescription: "quarantine") {
            try $0.quarantine(bottle: "b1", bytes: [1, 2, 3], reason: "short", received: Instant(seconds: 9))
        },
    ]

    @Test(arguments: steps) func `a process killed before any statement leaves a consistent store`(step: Step) throws {
        try prepare()
        let before = try dump(scratch.store)
        let copies = Mutex(0)
        let (scratch, path) = (scratch, scratch.store)
        let isArmed = Mutex(false)
        let store = try TrackerStore(path: path, hostZone: nil) { _ in
            guard isArmed.withLock({ $0 }) else { return }
            let number = copies.withLock {
                $0 += 1; return $0
            }
            for suffix in ["", "-wal"] {
                try? FileManager.default.copyItem(
                    atPath: path + suffix, toPath: scratch.file("kill-\(number).sqlite") + suffix)
            }
        }
        isArmed.withLock { $0 = true }
        try step.run(store)
        isArmed.withLock { $0 = false }
        let after = try dump(path)
        #expect(before != after, "the step must change the store, or the test is meaningless")
        let count = copies.withLock { $0 }
        try #require(count >= 3, "a transaction has at least begin, a write and commit")
        for number in 1...count {
            let left = try dump(scratch.file("kill-\(number).sqlite"))
            #expect(left == before || left == after, "killed before statement \(number) of \(step.testDescription)")
        }
    }

    /// The N-th statement fails, for every N: nothing of the write remains, and the same write succeeds afterwards.
    @Test(arguments: steps) func `a failing statement leaves a consistent store`(step: Step) throws {
        try prepare()
        let before = try dump(scratch.store)
        let left = Mutex(Int.max)
        let store = try TrackerStore(path: scratch.store, hostZone: nil) { db in
            let fires = left.withLock { left in
                left -= 1
                return left == 0
            }
            if fires { sqlite3_interrupt(db.sqliteConnection) }
        }
        var failures = 0
        for number in 1...200 {
            left.withLock { $0 = number }
            do {
                try step.run(store)
                left.withLock { $0 = Int.max }
                if failures > 0 { break }
            } catch {
                left.withLock { $0 = Int.max }
                failures += 1
                #expect(try dump(scratch.store) == before, "statement \(number) of \(step.testDescription)")
            }
        }
        #expect(failures >= 1)
        #expect(try dump(scratch.store) != before)
    }

    private func prepare() throws {
        let store = try TrackerStore(path: scratch.store)
        _ = try store.append([
            try sip("2026-02-03T09:00:00", 100), try sip("2026-02-02T09:00:00", 70),
            entry("b2", verdict: .quarantined(reason: "implausibleTimestamp")),
        ])
        _ = try store.startSession(try context("2026-02-03T08:00:00Z"))
        _ = try store.addLog(.drink(), try context("2026-02-03T08:10:00Z"))
        _ = try store.endSession(try context("2026-02-03T08:50:00Z"))
        _ = try store.startSession(try context("2026-02-03T11:00:00Z"))
        _ = try store.logDrink(ml: 330, try context("2026-02-03T12:00:00Z"))
    }

    /// Every row of every table as text, without random identifiers.
    private func dump(_ path: String) throws -> [String] {
        let store = try TrackerStore(path: path)
        return try store.read { db in
            let tables = try String.fetchAll(
                db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            return try tables.filter { $0 != "sqlite_sequence" }.flatMap { table in
                try Row.fetchAll(db, sql: "SELECT * FROM \"\(table)\"").map { row in
                    "\(table): "
                        + row.map { column, value in
                            column == "key" && !value.description.contains("|") ? "key" : "\(column)=\(value)"
                        }.joined(separator: " ")
                }.sorted()
            }
        }
    }
}
