import Foundation
import Store
import Support
import Synchronization
import Testing
import TrackerCore

/// The kernel's word that a store was written.
@Suite("A store that is watched", .timeLimit(.minutes(3)))
struct StoreWatchTests {
    /// How often it was told.
    private final class Ear: Sendable {
        private let count = Mutex(0)
        private let watch: StoreWatch

        init(_ path: String) throws {
            let watch = try #require(StoreWatch(path))
            self.watch = watch
            let writes = watch.writes
            Task { [weak self] in for await _ in writes { self?.count.withLock { $0 += 1 } } }
        }

        var heard: Int { count.withLock { $0 } }

        /// Whether something is told beyond what was told before.
        func hears(after before: Int) async -> Bool { await event(within: 60) { heard > before ? true : nil } ?? false }
    }

    /// One of several who listen to a watch.
    private final class Listener: Sendable {
        private let count: Counted
        private let work: Task<Void, Never>

        private final class Counted: Sendable { let number = Mutex(0) }

        init(_ writes: AsyncStream<Void>) {
            let count = Counted()
            self.count = count
            work = Task { for await _ in writes { count.number.withLock { $0 += 1 } } }
        }

        var heard: Int { count.number.withLock { $0 } }

        func leave() async {
            work.cancel()
            await work.value
        }
    }

    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func context() throws -> WriteContext {
        WriteContext(
            now: Instant(milliseconds: 1_781_000_000_000), zone: try Zone("Europe/Berlin"), source: "cli",
            makeID: { UUID().uuidString })
    }

    @Test("every write by anybody is heard, and who only looks is not")
    func writes() async throws {
        let path = folder.file("s.sqlite")
        let store = try TrackerStore(path: path)
        let ear = try Ear(path)
        for _ in 0..<3 {
            let before = ear.heard
            _ = try store.logDrink(ml: 100, at: nil, context())
            #expect(await ear.hears(after: before))
        }
        // What comes when is the kernel's business: here it has come when a file of another name has.
        try await settle(ear)
        let before = ear.heard
        for _ in 0..<5 { _ = try TrackerStore(path: path, for: .looking).look(context()) }
        try Data("x".utf8).write(to: folder.url("other"))
        #expect(await event(within: 0.3) { ear.heard > before ? true : nil } == nil)
    }

    @Test("several who listen to one watch hear every write, and one that leaves takes the word from nobody")
    func severalListeners() async throws {
        let path = folder.file("s.sqlite")
        let store = try TrackerStore(path: path)
        let watch = try #require(StoreWatch(path))
        let (first, second) = (Listener(watch.writes), Listener(watch.writes))
        _ = try store.logDrink(ml: 100, at: nil, context())
        #expect(await event(within: 60) { first.heard > 0 && second.heard > 0 ? true : nil } == true)
        await first.leave()
        let before = (first.heard, second.heard)
        _ = try store.logDrink(ml: 100, at: nil, context())
        #expect(await event(within: 60) { second.heard > before.1 ? true : nil } == true)
        #expect(first.heard == before.0)
        await second.leave()
    }

    @Test("a store that comes later, in a folder that comes later, and another that takes its place")
    func replaced() async throws {
        let path = folder.file("a/b/s.sqlite")
        let ear = try Ear(path)
        var before = ear.heard
        var store: TrackerStore? = try TrackerStore(path: path)
        #expect(await ear.hears(after: before))
        _ = try store?.logDrink(ml: 100, at: nil, context())
        store = nil
        try await settle(ear)
        before = ear.heard
        let other = folder.file("other.sqlite")
        _ = try TrackerStore(path: other).logDrink(ml: 300, at: nil, context())
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: other, toPath: path)
        #expect(await ear.hears(after: before))
        // Its folder, moved away and made anew.
        try await settle(ear)
        before = ear.heard
        try FileManager.default.moveItem(atPath: folder.file("a/b"), toPath: folder.file("c"))
        _ = try TrackerStore(path: path).logDrink(ml: 100, at: nil, context())
        #expect(await ear.hears(after: before))
        before = ear.heard
        _ = try TrackerStore(path: path).logDrink(ml: 100, at: nil, context())
        #expect(await ear.hears(after: before))
    }

    @Test("a link to a store elsewhere")
    func link() async throws {
        try FileManager.default.createDirectory(atPath: folder.file("real"), withIntermediateDirectories: true)
        let store = try TrackerStore(path: folder.file("real/s.sqlite"))
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link.sqlite"), withDestinationPath: folder.file("real/s.sqlite"))
        let ear = try Ear(folder.file("link.sqlite"))
        let before = ear.heard
        _ = try store.logDrink(ml: 100, at: nil, context())
        #expect(await ear.hears(after: before))
    }

    /// What stands on the way to a store, and comes to mean something else.
    enum Turn: String, CaseIterable {
        case folderAbove, folderAboveIsGone, link, linkToAFolder, folderAboveALinksTarget
    }

    @Test("a folder above that is another one, and a link that leads elsewhere", arguments: Turn.allCases)
    func aWayThatLeadsElsewhere(_ turn: Turn) async throws {
        let files = FileManager.default
        func make(_ name: String) throws {
            _ = try TrackerStore(path: folder.file(name)).logDrink(ml: 100, at: nil, context())
        }
        func link(_ name: String, _ target: String) throws {
            try files.createDirectory(
                atPath: (folder.file(name) as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            let draft = folder.file("draft")
            try files.createSymbolicLink(atPath: draft, withDestinationPath: target)
            #expect(rename(draft, folder.file(name)) == 0)
        }
        try make("a/b/s.sqlite")
        try make("other/b/s.sqlite")
        let path: String
        switch turn {
        case .folderAbove, .folderAboveIsGone: path = "a/b/s.sqlite"
        case .link, .folderAboveALinksTarget:
            path = "l/s.sqlite"
            try link(path, "../a/b/s.sqlite")
        case .linkToAFolder:
            path = "l/d/b/s.sqlite"
            try link("l/d", folder.file("a"))
        }
        let ear = try Ear(folder.file(path))
        try await settle(ear)
        var before = ear.heard
        switch turn {
        case .folderAbove, .folderAboveALinksTarget:
            try files.moveItem(atPath: folder.file("a"), toPath: folder.file("c"))
            try files.copyItem(atPath: folder.file("other"), toPath: folder.file("a"))
        case .folderAboveIsGone:
            try files.removeItem(atPath: folder.file("a"))
            try make("a/b/s.sqlite")
        case .link: try link(path, "../other/b/s.sqlite")
        case .linkToAFolder: try link("l/d", folder.file("other"))
        }
        #expect(await ear.hears(after: before), "that it is another one")
        try await settle(ear)
        before = ear.heard
        try make(path)
        #expect(await ear.hears(after: before), "what is written to that one")
    }

    /// Until nothing more is told for a while.
    private func settle(_ ear: Ear) async throws {
        var before = -1
        repeat { before = ear.heard } while await event(within: 0.2) { ear.heard > before ? true : nil } == true
    }
}
