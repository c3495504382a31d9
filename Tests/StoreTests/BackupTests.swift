import Foundation
import GRDB
import GatewaySupport
import Support
import Synchronization
import Testing
import TrackerCore
import TrackerSupport

@testable import Store

@Suite final class BackupTests: StoreFixture {
    let now = context(at: Instant(iso: "2026-02-03T18:00:00Z")!)

    /// Every row of every table as text, except the positions of changes, which belong to one file.
    private func dump(_ store: TrackerStore) throws -> [String] {
        try store.read { db in
            try (TrackerStore.tables(db) + ["sqlite_sequence"]).filter { $0 != "drink_sequence" }.flatMap { table in
                try Row.fetchAll(db, sql: "SELECT * FROM \"\(table)\"").filter { row in
                    table != "sqlite_sequence" || row["seq"] != 0
                }.map { row in
                    "\(table): \(row.filter { !["firstPosition", "position"].contains($0.0) }.map { "\($0)=\($1)" })"
                }.sorted()
            }
        }
    }

    @Test(arguments: [UInt64(1), 2, 3, 4])
    func `a random store has equal rows after a restore`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let zones = ["Europe/Berlin", "America/New_York", "Asia/Kathmandu"]
        var now = try #require(Instant(iso: "2026-02-03T18:00:00Z"))
        func context() throws -> WriteContext {
            StoreTests.context(at: now, zone: try Zone(zones[Int(now.milliseconds / 1000 % 3)]))
        }
        for step in 0..<60 {
            now = now.advanced(seconds: Double(Int.random(in: 1...20_000, using: &random)))
            let at = try context()
            let drinks = try store.allDrinks()
            switch Int.random(in: 0..<12, using: &random) {
            case 0...2: _ = try store.logDrink(ml: Int.random(in: 1...900, using: &random), at)
            case 3:
                _ = try store.append([
                    try sip("2026-02-03T10:00:\(10 + step % 50)", 100 + step),
                    entry(verdict: .quarantined(reason: "r")),
                ])
            case 4: if let drink = drinks.randomElement(using: &random) { _ = try store.deleteDrink(drink.key, at) }
            case 5:
                if let drink = drinks.randomElement(using: &random) { _ = try store.editDrink(drink.key, ml: 7, at) }
            case 6: _ = try? store.undo(at)
            case 7:
                try store.changeSettings([("hydration.goalMl", "\(1000 + 50 * step)"), ("health.enabled", "true")], at)
            case 8: _ = try store.startSession(at)
            case 9: _ = try? store.addLog(.drink(estimate: 1.5), at: nil, at)
            case 10: _ = try? store.endSession(at)
            default: _ = try store.finishOnboarding(at); _ = try store.evaluate(at, sinks: [MemorySink()])
            }
        }
        let backup = scratch.file("backup")
        try store.backUp(to: backup)
        let other = try TrackerStore(path: scratch.file("other.sqlite"))
        _ = try other.logDrink(ml: 1, try context())
        #expect(try other.hasRowsToReplace())
        try other.restore(from: backup, scratch: scratch.path)
        #expect(try dump(other) == dump(store), "seed \(seed)")
        #expect(try other.integrityProblems().isEmpty)
        // The backup is a store, and the restored one continues as the first one would have.
        #expect(try dump(TrackerStore(path: backup)) == dump(store))
        if let taken = try? store.undo(context()) { #expect(try other.undo(context()) == taken) }
        _ = try other.logDrink(ml: 3, try context())
    }

    @Test func `a backup is consistent while others write`() async throws {
        let path = scratch.store
        let writer = Task.detached {
            let store = try TrackerStore(path: path)
            for number in 1...300 {
                _ = try store.append([
                    try sip("2026-02-03T10:\(10 + number / 60):\(10 + number % 60 * 49 / 60)", number),
                    try sip("2026-02-04T10:00:00", 1000 + number),
                ])
            }
        }
        let store = try TrackerStore(path: path)
        for number in 0..<8 {
            let file = scratch.file("b\(number)")
            try store.backUp(to: file)
            let copy = try TrackerStore(path: file)
            #expect(try copy.integrityProblems().isEmpty)
            #expect(try copy.allDrinks().count % 2 == 0, "a backup has both drinks of a batch, or neither")
            await Task.yield()
        }
        try await writer.value
    }

    @Test func `an invalid backup changes nothing`() throws {
        #expect(try !store.hasRowsToReplace())
        _ = try store.logDrink(ml: 250, try context())
        let before = try dump(store)
        let intact = scratch.file("intact")
        try store.backUp(to: intact)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: intact))
        var damaged = bytes
        damaged.replaceSubrange(5000..<9000, with: Data(repeating: 0x5A, count: 4000))
        let files: [(String, Data)] = [
            ("empty", Data()), ("text", Data("Dear diary".utf8)), ("cut", bytes.prefix(bytes.count / 2)),
            ("damaged", damaged),
        ]
        for (name, data) in files {
            let file = scratch.url(name)
            try data.write(to: file)
            #expect(throws: StoreError.self, "\(name)") { try store.restore(from: file.path, scratch: scratch.path) }
            #expect(try Data(contentsOf: file) == data, "the file is only read")
        }
        try scratch.withDatabase(intact) {
            try $0.execute(sql: "CREATE TRIGGER evil AFTER INSERT ON drink BEGIN DELETE FROM drink; END")
        }
        for file in [intact, scratch.file("nowhere")] {
            #expect(throws: StoreError.self) { try store.restore(from: file, scratch: scratch.path) }
        }
        #expect(try dump(store) == before)
    }

    @Test func `a backup has no tokens, and passwords only on request`() throws {
        let store = try TrackerStore(path: scratch.file("secrets"))
        _ = try store.addToken("wt_secret", label: "phone", now)
        _ = try store.changeSettings([("mqtt.password", "hunter2"), ("hydration.goalMl", "2100")], now)
        for (name, secrets) in [("with", true), ("without", false)] {
            let file = scratch.file(name)
            try store.backUp(to: file, secrets: secrets)
            let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
            #expect((bytes.range(of: Data("hunter2".utf8)) != nil) == secrets)
            let backup = try TrackerStore(path: file)
            #expect(try backup.tokens().isEmpty && backup.settings().goalMl == 2100)
            // A restore keeps the tokens of the replaced store, and passwords that the backup does not have.
            try store.restore(from: file, scratch: scratch.path)
            #expect(try store.tokens().map(\.label) == ["phone"])
            #expect(try store.settings().service.mqttPassword == "hunter2")
        }
    }

    /// The result of the last poll belongs to this machine: a backup neither restores an old error nor removes a
    /// current one.
    @Test func `a restore does not restore old errors`() throws {
        let other = try TrackerStore(path: scratch.file("other.db"))
        try store.recordConnection(ConnectionProblem(.notFound), at: now.now)
        let file = scratch.file("backup")
        try store.backUp(to: file)
        try other.restore(from: file, scratch: scratch.path)
        #expect(try other.preview(now).snapshot.connectionProblem == nil)
        try other.recordConnection(ConnectionProblem(.bluetoothOff), at: now.now)
        try other.restore(from: file, scratch: scratch.path)
        #expect(try other.preview(now).snapshot.connectionProblem == ConnectionProblem(.bluetoothOff))
    }

    @Test func `a restore sends nothing that was pending in the backup`() throws {
        func notice(_ id: String) -> Announcement {
            Announcement(kind: .pace, id: id, title: "t", body: "b", urgency: .normal, sound: false)
        }
        let other = try TrackerStore(path: scratch.file("other.db"))
        func next(_ store: TrackerStore) throws -> QueuedNotification? {
            if case .message(let message) = try store.claimNextNotification(from: "ntfy", as: "me", at: now.now) {
                message
            } else {
                nil
            }
        }
        for id in ["r/1", "r/2"] { _ = try store.enqueue(notice(id), to: "ntfy", sendsLate: true, at: now.now) { id } }
        let file = scratch.file("backup")
        try store.backUp(to: file)
        let first = try #require(try next(store))
        try store.finishNotification(first, from: "ntfy", as: "me", at: now.now, .sent)
        try store.restore(from: file, scratch: scratch.path)
        #expect(try store.queuedState("r/1", at: "ntfy") == .sent && store.queuedNotification(withKey: "r/1") != nil)
        // Here the notification is still pending and unchanged.
        #expect(try next(store)?.announcement.id == "r/2")
        // On another machine the notification is not pending.
        try other.restore(from: file, scratch: scratch.path)
        #expect(try next(other) == nil && other.queuedState("r/2", at: "ntfy") == .dropped)
        _ = try other.enqueue(notice("r/3"), to: "ntfy", sendsLate: true, at: now.now) { "r/3" }
        #expect(try next(other)?.announcement.id == "r/3")
    }

    private func keptCopies() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: scratch.path).filter { $0.contains("-replaced-") }.sorted()
    }

    /// Records that the bottle has delivered since an old backup exist only in the replaced store.
    @Test func `a restore keeps the replaced store as a backup`() async throws {
        let old = scratch.file("old")
        try store.backUp(to: old)
        // A concurrent write of another program is in the restored store or in the kept copy.
        let path = scratch.store
        let writers = Task.detached {
            let other = try TrackerStore(path: path)
            for number in 1...200 {
                _ = try other.append([
                    try sip("2026-02-03T10:\(10 + number / 60):\(10 + number % 60 * 49 / 60)", number)
                ])
            }
        }
        _ = try store.logDrink(ml: 500, now)
        var found: [Int] = []
        for _ in 0..<8 {
            let restored = try store.restore(from: old, scratch: scratch.path, keepingAt: now.now)
            // A store without contents is not kept.
            guard let kept = restored.kept else { continue }
            #expect(mode(kept) == 0o600)
            let copy = try TrackerStore(path: kept)
            #expect(try copy.integrityProblems().isEmpty)
            found += try copy.allDrinks().map(\.ml)
            await Task.yield()
        }
        try await writers.value
        found += try store.allDrinks().map(\.ml)
        #expect(found.sorted() == Array(1...200) + [500])
        #expect(
            try keptCopies().prefix(2) == [
                "waterh.sqlite-replaced-20260203T180000Z", "waterh.sqlite-replaced-20260203T180000Z-2",
            ])
        let foreign = [
            "waterh.sqlite-replaced-", "waterh.sqlite-replaced-20260203T180000Z.txt", "other-replaced-20260203T180000Z",
        ]
        for name in foreign { try Data().write(to: scratch.url(name)) }
        try store.removeWrittenFiles()
        #expect(try keptCopies() == foreign.sorted(), "a purge deletes only the files of its store")
    }

    @Test func `a restore deletes the unfinished copy of a killed restore`() throws {
        let old = scratch.file("old")
        try store.backUp(to: old)
        _ = try store.logDrink(ml: 500, now)
        let unfinished = scratch.store + "-replaced-20260203T170000Z.new"
        for file in [unfinished, unfinished + "-journal"] {
            try Data("half".utf8).write(to: URL(fileURLWithPath: file))
        }
        let kept = try store.restore(from: old, scratch: scratch.path, keepingAt: now.now).kept
        #expect(try keptCopies() == ["waterh.sqlite-replaced-20260203T180000Z"])
        #expect(kept == scratch.store + "-replaced-20260203T180000Z")
        try store.removeWrittenFiles()
        #expect(try keptCopies().isEmpty)
    }

    // MARK: - Data that a restore does not revert

    @Test func `a restore does not revert deliveries, revocations and drink numbers`() throws {
        let first = try store.logDrink(ml: 100, now)
        _ = try store.addToken("secret", label: "phone", now)
        let backup = scratch.file("backup")
        try store.backUp(to: backup)
        _ = try store.recordPhoneDrinks([first.key])
        _ = try store.revokeTokens(nil, now)
        let second = try store.logDrink(ml: 200, now)
        try store.restore(from: backup, scratch: scratch.path)
        #expect(try store.allDrinks().map(\.ml) == [100])
        #expect(try store.drinksMissingOnPhone(since: Instant(milliseconds: 0), limit: 9).isEmpty)
        #expect(try store.tokens().map { $0.revokedAt != nil } == [true])
        #expect(try store.logDrink(ml: 300, now).number > second.number)
        // A new installation has the deliveries to the phone.
        let other = try TrackerStore(path: scratch.file("other.sqlite"))
        try store.backUp(to: backup + "-2")
        try other.restore(from: backup + "-2", scratch: scratch.path)
        #expect(try other.drinksMissingOnPhone(since: Instant(milliseconds: 0), limit: 9).map(\.ml) == [300])
        #expect(try other.tokens().isEmpty)
    }

    @Test func `every table has a rule for a restore`() {
        #expect(Set(Schema.restoreRules.keys) == Set(Schema.tableNames))
    }

    /// A folder `health` with other files is not deleted, and two stores write files of their own.
    @Test func `a purge deletes only files of its store`() throws {
        let health = scratch.url("health")
        let other = try TrackerStore(path: scratch.file("other.db"))
        for (each, ml) in [(store, 100), (other, 200)] {
            try each.changeSettings([("health.enabled", "true")], now)
            _ = try each.logDrink(ml: ml, now)
            try each.updateHealthFiles()
        }
        try Data("mine".utf8).write(to: health.appendingPathComponent("notes.txt"))
        func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: health.path).sorted() }
        #expect(
            try names() == [
                "notes.txt", "other.db-drinks.csv", "other.db-drinks.xml", "waterh.sqlite-drinks.csv",
                "waterh.sqlite-drinks.xml",
            ])
        #expect(mode(health.path + "/waterh.sqlite-drinks.csv") == 0o600)
        try store.removeWrittenFiles()
        try store.purge()
        #expect(try names() == ["notes.txt", "other.db-drinks.csv", "other.db-drinks.xml"])
        try store.removeWrittenFiles()
        try FileManager.default.removeItem(at: health.appendingPathComponent("notes.txt"))
        try other.removeWrittenFiles()
        #expect(!FileManager.default.fileExists(atPath: health.path), "it is empty")
    }

    @Test func `a purge waits for writers of health files`() throws {
        let (store, now) = (store, now)
        try store.changeSettings([("health.enabled", "true")], now)
        _ = try store.logDrink(ml: 777, now)
        try store.updateHealthFiles()
        let health = scratch.file("health")
        /// Starts `body` while another program holds the lock. That program then runs `last` and releases it.
        func begin(_ body: @escaping @Sendable () throws -> Void, thenBeside last: () throws -> Void) throws -> Bool {
            let lockedFolder = open(health, O_RDONLY | O_DIRECTORY)
            #expect(lockedFolder >= 0 && flock(lockedFolder, LOCK_EX) == 0)
            let done = DispatchSemaphore(value: 0)
            let hasSucceeded = Mutex(false)
            DispatchQueue.global().async {
                do {
                    try body()
                    hasSucceeded.withLock { $0 = true }
                } catch {}
                done.signal()
            }
            #expect(done.wait(timeout: .now() + 0.3) == .timedOut, "it waits for the lock")
            try last()
            close(lockedFolder)
            return done.wait(timeout: .now() + 10) == .success && hasSucceeded.withLock { $0 }
        }
        let file = health + "/waterh.sqlite-drinks.csv"
        _ = try store.logDrink(ml: 333, now)
        let isUpdated = try begin {
            try store.updateHealthFiles()
        } thenBeside: {
            try store.changeSettings([("health.enabled", "false")], now)
            unlink(file)
        }
        #expect(isUpdated && !FileManager.default.fileExists(atPath: file), "no program holds the lock")
        try store.changeSettings([("health.enabled", "true")], now)
        try store.updateHealthFiles()
        let isPurged = try begin {
            try store.removeWrittenFiles { try store.purge() }
        } thenBeside: {
            try Data("777 ml".utf8).write(to: URL(fileURLWithPath: file))
        }
        #expect(
            isPurged && !FileManager.default.fileExists(atPath: health), "it was written in the middle of the purge")
        try store.updateHealthFiles()
        #expect(!FileManager.default.fileExists(atPath: health))
    }
}
