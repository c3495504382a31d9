import Foundation
import Store
import Support
import Synchronization
import Testing
import TrackerCore

@Suite(.timeLimit(.minutes(20)))
struct StoreWatchTests {
    /// A subscriber of a watch, which counts its reports.
    private final class WriteCounter: Sendable {
        private final class Count: Sendable { let number = Mutex(0) }

        private let watch: StoreWatch
        private let count = Count()
        private let task: Task<Void, Never>

        init(_ watch: StoreWatch) {
            self.watch = watch
            let (writes, count) = (watch.writes, count)
            task = Task { for await _ in writes { count.number.withLock { $0 += 1 } } }
        }

        convenience init(_ path: String) throws { self.init(try #require(StoreWatch(path))) }

        deinit { task.cancel() }

        var total: Int { count.number.withLock { $0 } }

        /// Whether another report arrives.
        func grows(after before: Int) async -> Bool { await eventually(within: 60) { total > before } }

        func stop() async {
            task.cancel()
            await task.value
        }
    }

    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func `a watch reports writes of all programs, and no reads`() async throws {
        let path = folder.file("s.sqlite")
        let store = try TrackerStore(path: path)
        let counter = try WriteCounter(path)
        for _ in 0..<3 {
            let before = counter.total
            _ = try store.logDrink(ml: 100, at: nil, context())
            #expect(await counter.grows(after: before))
        }
        // The kernel delivers events in order: when an event for another file has arrived, this one has too.
        try await settle(counter)
        let before = counter.total
        for _ in 0..<5 { _ = try TrackerStore(path: path, for: .reading).preview(context()) }
        try Data("x".utf8).write(to: folder.url("other"))
        #expect(await !eventually(within: 0.3) { counter.total > before })
    }

    @Test func `several listeners of one watch receive every write`() async throws {
        let path = folder.file("s.sqlite")
        let store = try TrackerStore(path: path)
        let watch = try #require(StoreWatch(path))
        let (first, second) = (WriteCounter(watch), WriteCounter(watch))
        _ = try store.logDrink(ml: 100, at: nil, context())
        #expect(await eventually(within: 60) { first.total > 0 && second.total > 0 })
        await first.stop()
        let before = (first.total, second.total)
        _ = try store.logDrink(ml: 100, at: nil, context())
        #expect(await second.grows(after: before.1))
        #expect(first.total == before.0)
    }

    @Test func `a watch reports a store that is created later`() async throws {
        let counter = try WriteCounter(folder.file("s.sqlite"))
        _ = try TrackerStore(path: folder.file("s.sqlite"))
        #expect(await counter.grows(after: 0))
        #expect(StoreWatch(folder.file("none/s.sqlite")) == nil)
    }

    @Test func `a store behind a symbolic link is watched`() async throws {
        try FileManager.default.createDirectory(atPath: folder.file("real"), withIntermediateDirectories: true)
        let store = try TrackerStore(path: folder.file("real/s.sqlite"))
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link.sqlite"), withDestinationPath: folder.file("real/s.sqlite"))
        let counter = try WriteCounter(folder.file("link.sqlite"))
        let before = counter.total
        _ = try store.logDrink(ml: 100, at: nil, context())
        #expect(await counter.grows(after: before))
    }

    /// Waits until no report arrives for a while.
    private func settle(_ counter: WriteCounter) async throws {
        var before = -1
        repeat { before = counter.total } while await eventually(within: 0.2) { counter.total > before }
    }
}
