import Foundation
import GRDB
import GatewaySupport
import Support
import Synchronization
import Testing
import TrackerCore

@testable import Store

/// The error names the path, the cause and an action. The file is unchanged.
@Suite final class OpeningTests: ScratchFixture {
    private func failure(_ path: String? = nil, for purpose: TrackerStore.Access = .writing) -> StoreError? {
        do {
            _ = try TrackerStore(path: path ?? scratch.store, for: purpose)
            return nil
        } catch {
            return error as? StoreError
        }
    }

    /// `restore /etc/passwd` must not change the permissions before it detects that the file is not a store.
    /// - Parameter text: the contents of the file; `nil` for a database of another program.
    @Test(
        arguments: [
            ("x", .damaged), ("root:x:0:0::/root:/bin/sh\n", .damaged), ("SQLite format 2\0 and more", .damaged),
            (String(repeating: "no database at all ", count: 500), .damaged), ("{\"a\": 1}", .damaged),
            (nil, .foreign),
        ] as [(String?, StoreError.Kind)])
    func `a file of another kind is rejected and not changed`(text: String?, kind: StoreError.Kind) throws {
        if let text {
            try Data(text.utf8).write(to: URL(fileURLWithPath: scratch.store))
        } else {
            try scratch.withDatabase { try $0.execute(sql: "CREATE TABLE drink (key TEXT)") }
        }
        let before = try Data(contentsOf: URL(fileURLWithPath: scratch.store))
        chmod(scratch.store, 0o644)
        for purpose in [TrackerStore.Access.writing, .reading] {
            let error = try #require(failure(for: purpose))
            #expect(error.kind == kind && error.description.contains(scratch.store))
            #expect(try Data(contentsOf: URL(fileURLWithPath: scratch.store)) == before)
            #expect(mode(scratch.store) == 0o644)
            #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path).count == 1)
        }
    }

    /// SQLite keeps its WAL next to the file, not next to the link.
    @Test func `a store behind a symbolic link is writable`() throws {
        let folder = scratch.file("elsewhere")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        _ = try TrackerStore(path: folder + "/real.sqlite")
        try FileManager.default.createSymbolicLink(atPath: scratch.store, withDestinationPath: "elsewhere/real.sqlite")
        let store = try TrackerStore(path: scratch.store)
        try store.changeSettings([("hydration.goalMl", "2100")], try context("2026-02-02T22:30:00Z"))
        try store.changeSettings([("hydration.goalMl", "2200")], try context("2026-02-02T22:31:00Z"))
        #expect(try TrackerStore(path: folder + "/real.sqlite").settings().goalMl == 2200)
    }

    /// Each name has a WAL of its own, so commits under one name would be lost under the other. Reading is permitted.
    @Test func `a store with two hard links is read-only`() throws {
        _ = try TrackerStore(path: scratch.store).append([entry()])
        let other = scratch.file("other.sqlite")
        try FileManager.default.linkItem(atPath: scratch.store, toPath: other)
        for name in [scratch.store, other] {
            let error = try #require(throws: StoreError.self) { _ = try TrackerStore(path: name) }
            #expect(error.code == "hasOtherNames" && error.path == name, "\(error)")
            #expect(try TrackerStore(path: name, for: .reading).allDrinks().count == 1)
        }
        try FileManager.default.removeItem(atPath: other)
        #expect(try TrackerStore(path: scratch.store).append([entry(hour: 3)]) == [.stored])
    }

    /// A container's volume of one file: the path of the WAL would differ between programs. A folder can be mounted.
    @Test func `a bind-mounted file is detected`() {
        let mounts = """
            22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
            301 22 254:0 /home/me/w.sqlite /data/w.sqlite rw,relatime - ext4 /dev/vda rw
            302 22 254:0 /home/me/a\\040b /data/a\\040b\\134c.sqlite rw,relatime - ext4 /dev/vda rw
            303 22 254:0 /home/me/folder /data/folder rw,relatime - ext4 /dev/vda rw
            304 22
            """
        #expect(
            StoreFile.isMounted("/data/w.sqlite", in: mounts) && StoreFile.isMounted("/data/a b\\c.sqlite", in: mounts))
        for other in ["/data/folder/w.sqlite", "/home/me/w.sqlite", "/data/w.sqlite2", "/data/a", ""] {
            #expect(!StoreFile.isMounted(other, in: mounts), "\(other)")
        }
    }

    @Test func `directories are created, an empty file becomes a store, and a directory is not a store`() throws {
        #expect(failure(scratch.file("a/b/c.sqlite")) == nil)
        #expect(failure(scratch.path)?.kind == .cannotOpen)
        try Data().write(to: scratch.url("file"))
        #expect(failure(scratch.file("file/waterh.sqlite"))?.kind == .cannotOpen)
        #expect(failure(scratch.file("file")) == nil)
    }

    @Test func `a store of a newer version is rejected and not changed`() throws {
        _ = try TrackerStore(path: scratch.store).append([entry()])
        let version = Schema.version
        try scratch.withDatabase { try $0.execute(sql: "PRAGMA user_version = \(version + 1)") }
        let error = try #require(failure())
        #expect(error.kind == .newer && error.cause.contains("\(version + 1)"))
        try scratch.withDatabase { try $0.execute(sql: "PRAGMA user_version = \(version)") }
        #expect(try TrackerStore(path: scratch.store).append([entry()]) == [.duplicate])
    }

    /// A reader during the creation of a file, or after a power failure, must see all tables or none.
    @Test func `a new store gets all tables in one transaction`() throws {
        let path = scratch.store
        let seen = Mutex<Set<Int>>([])
        _ = try TrackerStore(
            path: path, hostZone: nil,
            beforeStatement: { _ in
                let version = try? DatabaseQueue(path: path).read { try Int.fetchOne($0, sql: "PRAGMA user_version") }
                if let version { _ = seen.withLock { $0.insert(version) } }
            })
        #expect(seen.withLock { $0.isSubset(of: [0, Schema.version]) && $0.contains(0) })
        #expect(try TrackerStore(path: path).append([entry()]) == [.stored])
    }

    @Test func `a read changes nothing`() throws {
        let store = try TrackerStore(path: scratch.store)
        let error = #expect(throws: StoreError.self) {
            try store.read { try $0.execute(sql: "INSERT INTO counter (name, value) VALUES ('read', 1)") }
        }
        #expect(error?.kind == .readOnly)
        #expect(try store.read { try Counter.value("read", $0) } == 0)
        #expect(try TrackerStore(path: scratch.store).append([entry()]) == [.stored])
        #expect(try store.allDrinks().count == 1)
    }

    /// The file of a closed store with these records.
    private func storeFile(_ entries: [JournalEntry]) throws -> Data {
        do { _ = try TrackerStore(path: scratch.store).append(entries) }
        try scratch.withDatabase { _ = try $0.checkpoint(.truncate) }
        return try Data(contentsOf: URL(fileURLWithPath: scratch.store))
    }

    /// Cut at every page and at other sizes: an error, or a working store if no required part is missing.
    @Test func `a truncated store does not trap`() throws {
        let complete = try storeFile((0..<60).flatMap { minute in (0..<40).map { entry(minute: minute, second: $0) } })
        let cuts =
            [0, 1, 15, 16, 50, 99, 100, 101, 511, 512, 1023] + Array(stride(from: 2048, to: complete.count, by: 2048))
        for cut in cuts {
            let copy = scratch.url("cut-\(cut).sqlite")
            try complete.prefix(cut).write(to: copy)
            do {
                let store = try TrackerStore(path: copy.path)
                _ = try store.append([entry(hour: 3)])
                _ = try store.journalCounts()
            } catch let error as StoreError {
                #expect([.damaged, .foreign, .inputOutput, .other].contains(error.kind), "cut at \(cut): \(error)")
            }
        }
    }

    /// Writes to an unlinked file are lost when it is closed, so they must fail.
    @Test(arguments: ["", "-wal"]) func `a removed store rejects writes`(suffix: String) throws {
        let store = try TrackerStore(path: scratch.store)
        #expect(try store.append([entry()]) == [.stored])
        try FileManager.default.removeItem(atPath: scratch.store + suffix)
        let error = try #require(throws: StoreError.self) { _ = try store.append([entry(hour: 3)]) }
        #expect(error.kind == .cannotOpen && error.code == "storeWasRemoved", "\(error)")
        #expect(throws: StoreError.self) { _ = try store.isOwn(entry().bottle) }
        // Another file with its name is not the store.
        _ = try? TrackerStore(path: scratch.store)
        #expect(throws: StoreError.self) { _ = try store.append([entry(hour: 4)]) }
    }

    @Test func `a write to a store whose file was moved is rejected and not stored`() throws {
        let store = try TrackerStore(path: scratch.store)
        _ = try store.logDrink(ml: 100, try context("2026-02-02T12:00:00Z"))
        let movedPath = scratch.store + "-away"
        for suffix in ["", "-wal", "-shm"] {
            try FileManager.default.moveItem(atPath: scratch.store + suffix, toPath: movedPath + suffix)
        }
        #expect(throws: StoreError.self) { _ = try store.logDrink(ml: 200, try context("2026-02-02T12:10:00Z")) }
        #expect(throws: StoreError.self) { try store.requireSameFile() }
        // The service must not show the contents of the removed file.
        #expect(throws: StoreError.self) { _ = try store.allDrinks() }
        for suffix in ["", "-wal", "-shm"] {
            try FileManager.default.moveItem(atPath: movedPath + suffix, toPath: scratch.store + suffix)
        }
        try store.requireSameFile()
        _ = try store.logDrink(ml: 200, try context("2026-02-02T12:10:00Z"))
        #expect(try store.allDrinks().map(\.ml) == [100, 200])
    }

    /// If only the file is replaced, its WAL is next to the other file.
    @Test func `a store that replaces an open one is not read with its WAL`() throws {
        let files = FileManager.default
        let (movedPath, copy) = (scratch.store + "-away", scratch.store + "-copy")
        let other = try TrackerStore(path: scratch.store + "-other")
        for ml in [1, 2] { _ = try other.logDrink(ml: ml, try context("2026-02-02T12:0\(ml):00Z")) }
        try other.backUp(to: copy)
        let store = try TrackerStore(path: scratch.store)
        for ml in 100..<140 { _ = try store.logDrink(ml: ml, try context("2026-02-02T12:00:00Z")) }
        try files.moveItem(atPath: scratch.store, toPath: movedPath)
        try files.moveItem(atPath: copy, toPath: scratch.store)
        #expect(throws: StoreError.self) { _ = try store.allDrinks() }
        let next = try TrackerStore(path: scratch.store)
        _ = try next.logDrink(ml: 3, try context("2026-02-02T12:10:00Z"))
        // The WAL of the new store must not be removed.
        #expect(throws: StoreError.self) { _ = try store.allDrinks() }
        #expect(try next.allDrinks().map(\.ml) == [1, 2, 3])
        #expect(try next.integrityProblems().isEmpty)
        // The first store no longer has a WAL, so it must be opened again.
        try files.moveItem(atPath: scratch.store, toPath: scratch.store + "-next")
        try files.moveItem(atPath: movedPath, toPath: scratch.store)
        #expect(throws: StoreError.self) { try store.requireSameFile() }
        try files.moveItem(atPath: scratch.store, toPath: movedPath)
        #expect(try TrackerStore(path: movedPath, for: .reading).allDrinks().count == 40)
    }

    @Test(arguments: [
        "ALTER TABLE bottle RENAME COLUMN name TO ame", "ALTER TABLE session DROP COLUMN sealed", "DROP TABLE day",
    ])
    func `a store with unexpected tables is reported as damaged`(_ sql: String) throws {
        _ = try TrackerStore(path: scratch.store).append([entry()])
        try scratch.withDatabase { try $0.execute(sql: sql) }
        for purpose in [TrackerStore.Access.writing, .reading] {
            let error = try #require(throws: StoreError.self) {
                _ = try TrackerStore(path: scratch.store, for: purpose)
            }
            #expect(error.kind == .damaged, "\(error)")
        }
    }

    /// Limits the size of the file as a full disk does.
    private func limitPages(_ store: TrackerStore, to pages: Int) throws {
        try store.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = \(pages)") }
    }

    @Test func `flipped bytes do not trap`() throws {
        let complete = try storeFile((0..<59).map { entry(second: $0) })
        var random = SeededGenerator(seed: 5)
        for round in 0..<60 {
            var damaged = complete
            for _ in 0..<20 {
                damaged[Int.random(in: 16..<complete.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            let copy = scratch.url("flip-\(round).sqlite")
            try damaged.write(to: copy)
            do {
                let store = try TrackerStore(path: copy.path)
                _ = try store.append([entry(hour: 3)])
                _ = try store.bottles()
            } catch is StoreError {
                continue
            }
        }
    }

    /// Invariant 1 for a power failure: SQLite syncs at each commit (2 is FULL).
    @Test func `a commit waits for the disk`() throws {
        let store = try TrackerStore(path: scratch.store)
        let (mode, synchronous) = try store.writeWithoutTransaction { db in
            (try String.fetchOne(db, sql: "PRAGMA journal_mode"), try Int.fetchOne(db, sql: "PRAGMA synchronous"))
        }
        #expect(mode == "wal" && synchronous == 2)
    }

    @Test func `a full disk rejects the batch and loses nothing`() throws {
        let store = try TrackerStore(path: scratch.store)
        _ = try store.append([entry()])
        try limitPages(store, to: 1)
        let batch = (0..<60).flatMap { minute in (0..<60).map { entry(minute: minute, second: $0) } }
        let error = #expect(throws: StoreError.self) { _ = try store.append(batch) }
        #expect(error?.kind == .diskFull)
        #expect(try store.journalCounts().drinks == 1)
        try limitPages(store, to: 100_000)
        #expect(try store.append(batch).filter { $0 == .stored }.count == 3599)
    }

    @Test func `a read-only file is reported`() throws {
        _ = try storeFile([entry()])
        chmod(scratch.store, 0o444)
        guard access(scratch.store, W_OK) != 0 else {
            print("skipped: this user may write read-only files (root)")
            return
        }
        let error = #expect(throws: StoreError.self) {
            _ = try TrackerStore(path: scratch.store).append([entry(ml: 99)])
        }
        #expect(error?.kind == .readOnly)
    }
}
