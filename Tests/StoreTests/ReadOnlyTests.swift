import Foundation
import GRDB
import GatewaySupport
import Support
import Testing
import TrackerCore

@testable import Store

/// Opening a store read-only creates, migrates and changes nothing.
@Suite final class ReadOnlyTests: ScratchFixture {
    /// All files of the folder with their bytes. (`-shm` is SQLite's shared memory: its bytes can change.)
    private func folder() throws -> [String: Data] {
        let files = FileManager.default
        return try Dictionary(
            uniqueKeysWithValues: files.contentsOfDirectory(atPath: scratch.path).map { name in
                let path = scratch.file(name)
                return (name, name.hasSuffix("-shm") ? Data() : files.contents(atPath: path) ?? Data("unreadable".utf8))
            })
    }

    /// Opens the store, runs the doctor's queries, and closes it.
    @discardableResult
    private func openAndRead(_ path: String? = nil) throws -> (drinks: Int, fileState: TrackerStore.FileState) {
        let store = try TrackerStore(path: path ?? scratch.store, for: .reading)
        _ = try store.preview(context("2026-02-03T12:00:00Z"))
        #expect(try store.integrityProblems().isEmpty)
        return (try store.allDrinks().count, store.fileState)
    }

    @Test func `reading creates no store and leaves an empty file empty`() throws {
        #expect(try openAndRead().fileState == .nothing)
        #expect(try openAndRead(scratch.path + "/a/b/c.sqlite").fileState == .nothing)
        #expect(try folder().isEmpty)
        try Data().write(to: URL(fileURLWithPath: scratch.store))
        #expect(try openAndRead().fileState == .nothing)
        #expect(try folder() == ["waterh.sqlite": Data()])
    }

    @Test func `reading a closed store does not change it`() throws {
        _ = try TrackerStore(path: scratch.store).append([entry()])
        let before = try folder()
        #expect(try openAndRead() == (1, .store))
        #expect(try folder() == before)
    }

    /// SIGKILL leaves a WAL with commits that the file does not have. They are read and stay in the WAL.
    @Test func `reading uses the WAL of a killed program`() throws {
        let copy = try TemporaryFolder()
        do {
            let store = try TrackerStore(path: copy.store)
            _ = try store.append([entry()])
            for suffix in ["", "-wal"] {
                try FileManager.default.copyItem(atPath: copy.store + suffix, toPath: scratch.store + suffix)
            }
        }
        let before = try folder()
        #expect(try openAndRead() == (1, .store))
        var after = try folder()
        after["waterh.sqlite-shm"] = nil
        #expect(after == before)
    }

    @Test func `a read-only store rejects every write`() throws {
        _ = try TrackerStore(path: scratch.store).append([entry()])
        for path in [scratch.store, scratch.store + ".none"] {
            let store = try TrackerStore(path: path, for: .reading)
            #expect(throws: StoreError.self) { _ = try store.append([entry(ml: 99)]) }
            #expect(throws: StoreError.self) { _ = try store.logDrink(ml: 99, context("2026-02-03T12:00:00Z")) }
            #expect(throws: StoreError.self) { try store.purge() }
        }
        #expect(try TrackerStore(path: scratch.store).allDrinks().map(\.ml) == [16])
    }

    /// A pipe is rejected at once: SQLite would block on it.
    @Test(.timeLimit(.minutes(20)), arguments: [TrackerStore.Access.reading, .writing])
    func `pipes, sockets and devices are not stores`(access: TrackerStore.Access) throws {
        try #require(mkfifo(scratch.store, 0o600) == 0)
        for path in [scratch.store, "/dev/null", "/dev/zero", "", scratch.path] {
            let error = #expect(throws: StoreError.self, "\(path)") { _ = try TrackerStore(path: path, for: access) }
            #expect(error?.kind == .cannotOpen)
        }
    }

    /// SQLite interprets some of these names. Here each is a file.
    @Test(arguments: [":memory:", "file:x?mode=memory", "a b%20#?&.sqlite", "Größe 水.sqlite", "file:memdb"])
    func `a store name is validated`(_ name: String) throws {
        let path = scratch.file(name)
        _ = try TrackerStore(path: path).append([entry()])
        #expect(try openAndRead(path) == (1, .store))
        #expect(try folder().keys.sorted() == [name])
    }
}

/// File permissions of a store: owner only.
@Suite final class PrivacyTests: ScratchFixture {
    @Test func `a new store is private`() throws {
        let path = scratch.path + "/state/waterh/waterh.sqlite"
        let store = try TrackerStore(path: path)
        _ = try store.append([entry()])
        for folder in ["/state", "/state/waterh"] { #expect(mode(scratch.path + folder) == 0o700) }
        for suffix in ["", "-wal", "-shm"] { #expect(mode(path + suffix) == 0o600, "\(suffix)") }
    }

    @Test func `permissions of a store are restricted, but not those of its directory`() throws {
        do { _ = try TrackerStore(path: scratch.store).append([entry()]) }
        let writer = try TrackerStore(path: scratch.store)
        _ = try writer.append([entry(ml: 99)])
        chmod(scratch.path, 0o755)
        for suffix in ["", "-wal", "-shm"] { chmod(scratch.store + suffix, 0o644) }
        _ = try TrackerStore(path: scratch.store, for: .reading)
        #expect(mode(scratch.store) == 0o644, "opening for reading does not change the permissions")
        _ = try TrackerStore(path: scratch.store)
        for suffix in ["", "-wal", "-shm"] { #expect(mode(scratch.store + suffix) == 0o600, "\(suffix)") }
        #expect(mode(scratch.path) == 0o755)
    }
}
