import Foundation
import Store
import Support
import Synchronization
import Testing
import TrackerCore

@Suite(.timeLimit(.minutes(20)))
struct StoreWatchTests {
    /// Counts the notifications.
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

        /// Whether a further notification arrives.
        func hears(after before: Int) async -> Bool { await event(within: 60) { heard > before ? true : nil } ?? false }
    }

    /// One of several subscribers of a watch.
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

    @Test func `a watch reports writes of all programs, and no reads`() async throws {
        let path = folder.file("s.sqlite")
        let store = try TrackerStore(path: path)
        let ear = try Ear(path)
        for _ in 0..<3 {
            let before = ear.heard
            _ = try store.logDrink(ml: 100, at: nil, context())
            #expect(await ear.hears(after: before))
        }
        // The kernel delivers events in order: when an event for another file has arrived, this one has too.
        try await settle(ear)
        let before = ear.heard
        for _ in 0..<5 { _ = try TrackerStore(path: path, for: .reading).look(context()) }
        try Data("x".utf8).write(to: folder.url("other"))
        #expect(await event(within: 0.3) { ear.heard > before ? true : nil } == nil)
    }

    @Test func `several listeners of one watch receive every write`() async throws {
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

    @Test func `a watch reports a store that is created later`() async throws {
        let ear = try Ear(folder.file("s.sqlite"))
        _ = try TrackerStore(path: folder.file("s.sqlite"))
        #expect(await ear.hears(after: 0))
        #expect(StoreWatch(folder.file("none/s.sqlite")) == nil)
    }

    @Test func `a store behind a symbolic link is watched`() async throws {
        try FileManager.default.createDirectory(atPath: folder.file("real"), withIntermediateDirectories: true)
        let store = try TrackerStore(path: folder.file("real/s.sqlite"))
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link.sqlite"), withDestinationPath: folder.file("real/s.sqlite"))
        let ear = try Ear(folder.file("link.sqlite"))
        let before = ear.heard
        _ = try store.logDrink(ml: 100, at: nil, context())
        #expect(await ear.hears(after: before))
    }

    /// Waits until no notification arrives for a while.
    private func settle(_ ear: Ear) async throws {
        var before = -1
        repeat { before = ear.heard } while await event(within: 0.2) { ear.heard > before ? true : nil } == true
    }
}
