import Foundation
import GatewaySupport
import GRDB
import Support
import Testing
import TrackerCore

@testable import Store

/// Publishers read drinks by position, without copies.
@Suite struct PublisherPositionTests {
    private let store: TrackerStore
    private let now = Instant(iso: "2026-06-15T12:00:00Z")!

    init() throws { store = try TrackerStore(inMemory: "UTC") }

    private func context(_ seconds: Double = 0) -> WriteContext {
        StoreTests.context(at: now.advanced(seconds: seconds))
    }

    private func reported(_ name: String = "a") throws -> [String] {
        try store.changes(for: name, limit: 1000).map { change in
            change.drink.map { "\($0.ml)\($0.isDeleted ? " deleted" : "")" } ?? "gone"
        }
    }

    /// After a purge a publisher starts with the drinks since the purge. A publisher that was only closed does not
    /// restart.
    @Test func `a publisher reports the drinks since a purge`() throws {
        _ = try store.openPublisher("a") { "1" }
        _ = try store.openPublisher("b") { "2" }
        _ = try store.logDrink(ml: 100, context())
        try store.purge()
        _ = try store.logDrink(ml: 200, context(1))
        // The second publisher was opened first and has the next change.
        _ = try store.openPublisher("b", includesStored: true) { "4" }
        _ = try store.logDrink(ml: 300, context(2))
        #expect(try store.openPublisher("a", includesStored: true) { "3" }.id == "3")
        #expect(try reported("a") == ["200", "300"] && reported("b") == ["200", "300"])
        try store.closePublisher("a")
        _ = try store.logDrink(ml: 400, context(3))
        _ = try store.openPublisher("a", includesStored: true) { "5" }
        #expect(try reported("a").isEmpty && store.openPublisher("a") { "6" }.id == "3")
        #expect(try reported("b") == ["200", "300", "400"])
    }

    /// A publisher's name identifies a store elsewhere: a copy differs, a moved file is the same, and a file from
    /// another machine is undetermined.
    @Test func `a copied store does not have the location of its original`() throws {
        let folder = try TemporaryFolder()
        func home(_ name: String, machine: String = "m1\n") -> PublisherLocation {
            PublisherLocation(machineID: machine, path: folder.file(name))
        }
        let original = try TrackerStore(path: folder.file("a"))
        let id = try original.openPublisher("mqtt") { "first" }.id
        try original.recordRetained(["h/state"], of: "mqtt")
        for _ in 0..<2 { #expect(try original.checkLocation(home("a"), of: "mqtt") == .accepted) }
        try original.backUp(to: folder.file("b"))
        try FileManager.default.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: folder.file("a"))
        #expect(try original.checkLocation(home("link"), of: "mqtt") == .accepted)
        let copy = try TrackerStore(path: folder.file("b"))
        let path = home("a").path
        for _ in 0..<2 { #expect(try copy.checkLocation(home("b"), of: "mqtt") == .copy(of: path)) }
        #expect(try copy.checkLocation(home("b", machine: "m2"), of: "mqtt") == .onAnotherMachine(path))
        // With a new identity the remote data remains the original's.
        try copy.adoptLocation(home("b"), of: "mqtt", newID: "second")
        #expect(
            try copy.checkLocation(home("b"), of: "mqtt") == .accepted && copy.identity(of: "mqtt")?.id == "second"
                && copy.retainedTopics(of: "mqtt").isEmpty)
        // A moved file is recognised, also if another store is at its old path.
        try copy.backUp(to: folder.file("c"))
        let moved = try TrackerStore(path: folder.file("c"))
        for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: folder.file("b") + end) }
        #expect(
            try moved.checkLocation(home("c"), of: "mqtt") == .accepted && moved.identity(of: "mqtt")?.id == "second")
        try moved.backUp(to: folder.file("d"))
        _ = try TrackerStore(path: folder.file("e")).openPublisher("mqtt") { "other" }
        try moved.adoptLocation(home("e"), of: "mqtt")
        #expect(try moved.checkLocation(home("c"), of: "mqtt") == .accepted)
        // A copy on another machine, which the user has confirmed.
        let elsewhere = try TrackerStore(path: folder.file("d"))
        #expect(try elsewhere.checkLocation(home("d", machine: "m2"), of: "mqtt") == .onAnotherMachine(home("c").path))
        try elsewhere.adoptLocation(home("d", machine: "m2"), of: "mqtt")
        #expect(
            try elsewhere.checkLocation(home("d", machine: "m2"), of: "mqtt") == .accepted
                && elsewhere.identity(of: "mqtt")?.id == "second")
        #expect(id == "first")
    }

    /// A container has no machine id: the file identifies itself, whatever its path.
    @Test func `a store on a machine without an ID is identified by its file`() throws {
        let folder = try TemporaryFolder()
        func home(_ name: String) -> PublisherLocation { PublisherLocation(machineID: "\n", path: folder.file(name)) }
        do {
            let original = try TrackerStore(path: folder.file("a"))
            _ = try original.openPublisher("mqtt") { "first" }
            for _ in 0..<2 { #expect(try original.checkLocation(home("a"), of: "mqtt") == .accepted) }
        }
        // Another machine without an id: the same path and another file.
        try FileManager.default.moveItem(atPath: folder.file("a"), toPath: folder.file("b"))
        try FileManager.default.copyItem(atPath: folder.file("b"), toPath: folder.file("a"))
        #expect(
            try TrackerStore(path: folder.file("a")).checkLocation(home("a"), of: "mqtt")
                == .onAnotherMachine(home("a").path))
        for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: folder.file("a") + end) }
        #expect(try TrackerStore(path: folder.file("b")).checkLocation(home("b"), of: "mqtt") == .accepted)
        // An identity that was stored without a machine ID stays valid.
        let old = try TrackerStore(path: folder.file("c"))
        _ = try old.openPublisher("mqtt") { "old" }
        try old.write { try $0.execute(sql: "UPDATE publisher SET origin = ' ' || ?", arguments: [home("c").path]) }
        for _ in 0..<2 { #expect(try old.checkLocation(home("c"), of: "mqtt") == .accepted) }
    }

    @Test func `a publisher's error has its start time and the number of waiting drinks`() throws {
        _ = try store.openPublisher("mqtt") { "1" }
        try store.recordProblem("away", of: "mqtt", at: now)
        _ = try store.logDrink(ml: 100, context())
        // A different message is the same failure.
        try store.recordProblem("denied", of: "mqtt", at: now.advanced(seconds: 60))
        #expect(
            try store.publisherErrors() == [
                PublisherError(publisher: "mqtt", message: "denied", since: now, waiting: 1)
            ])
        try store.recordProblem(nil, of: "mqtt", at: now.advanced(seconds: 120))
        #expect(try store.publisherErrors().isEmpty)
        try store.recordProblem("away", of: "mqtt", at: now.advanced(seconds: 180))
        #expect(try store.publisherErrors().map(\.since) == [now.advanced(seconds: 180)])
        try store.closePublisher("mqtt")
        #expect(try store.publisherErrors().isEmpty)
    }

    @Test func `an error of a notification channel starts again when its settings change`() throws {
        func errors() throws -> [PublisherError] { try store.publisherErrors() }
        try store.recordProblem("away", of: "ntfy", with: "a", at: now)
        let version = try store.dataVersion()
        try store.recordProblem("away", of: "ntfy", with: "a", at: now.advanced(seconds: 5))
        #expect(try store.dataVersion() == version)
        try store.recordProblem(
            String(repeating: "x", count: 9000), of: "ntfy", with: "a", at: now.advanced(seconds: 60))
        #expect(
            try errors() == [
                PublisherError(publisher: "ntfy", message: String(repeating: "x", count: 2000), since: now)
            ])
        // With other settings it counts as another failure.
        try store.clearProblem(of: "ntfy", unlessWith: "a")
        try store.recordProblem("away", of: "ntfy", with: "b", at: now.advanced(seconds: 90))
        #expect(
            try errors() == [PublisherError(publisher: "ntfy", message: "away", since: now.advanced(seconds: 90))])
        // An entry of an earlier version for a removed channel.
        try store.recordProblem("gone", of: "push-1", with: "", at: now)
        #expect(try errors().map(\.publisher) == ["ntfy"])
        try store.clearProblem(of: "ntfy", unlessWith: "a")
        #expect(try errors().isEmpty)
        try store.recordProblem("away", of: "webhook", with: "", at: now)
        try store.clearProblem(of: "webhook")
        #expect(try errors().isEmpty)
    }

    private func recordedChanges() throws -> Int? {
        try store.rowCounts().first { $0.table == "drink_change" }?.rows
    }

    @Test func `a publisher reports the changes since its creation, and without one none is recorded`() throws {
        _ = try store.logDrink(ml: 100, context())
        #expect(try recordedChanges() == 0 && reported().isEmpty && store.waitingChanges(for: "a") == 0)
        let outlet = try store.openPublisher("a") { "id-1" }
        #expect(try store.openPublisher("a") { "id-2" } == outlet && outlet.id == "id-1")
        let drink = try store.logDrink(ml: 200, context(1))
        _ = try store.logDrink(ml: 300, context(2))
        #expect(try reported() == ["200", "300"])
        // An edit is a deletion and a new drink. A drink appears once, at its last change.
        _ = try store.editDrink("d\(drink.number)", ml: 250, context(3))
        #expect(try reported().sorted() == ["200 deleted", "250", "300"])
        #expect(try reported().first == "300")
        let second = try store.changes(for: "a", limit: 2)
        try store.confirmChanges(of: "a", through: second[1].sequence)
        #expect(try store.waitingChanges(for: "a") == 1)
        // Positions never decrease.
        try store.confirmChanges(of: "a", through: 0)
        #expect(try store.waitingChanges(for: "a") == 1)
        _ = try store.undo(context(4))
        #expect(try reported().sorted() == ["200", "250 deleted"])
    }

    @Test func `delivered changes are deleted and positions are not reused`() throws {
        for name in ["a", "b"] { _ = try store.openPublisher(name) { name } }
        _ = try store.logDrink(ml: 100, context())
        let last = try #require(try store.changes(for: "a", limit: 9).last).sequence
        try store.confirmChanges(of: "a", through: last)
        #expect(try reported("b") == ["100"] && reported("a").isEmpty)
        try store.confirmChanges(of: "b", through: last)
        #expect(try recordedChanges() == 0)
        _ = try store.logDrink(ml: 200, context(1))
        #expect(try store.changes(for: "a", limit: 9).map(\.sequence) == [last + 1])
        // A closed publisher blocks no cleanup and restarts when it is opened again.
        #expect(try !store.closePublisher("b", unlessWaitingAtMost: 1) && store.isPublisherOpen("b"))
        #expect(try store.closePublisher("b") && !store.closePublisher("b"))
        try store.confirmChanges(of: "a", through: last + 1)
        #expect(try recordedChanges() == 0)
        _ = try store.logDrink(ml: 300, context(2))
        #expect(try store.openPublisher("b") { "other" }.id == "b")
        #expect(try reported("b").isEmpty && reported("a") == ["300"])
    }

    @Test func `a publisher reports new and changed drinks of a bottle`() throws {
        _ = try store.openPublisher("a") { "a" }
        var entry = try sip("2026-06-15T10:00:00", 100, bottle: "A")
        entry.reading = "calendar/u16be"
        _ = try store.append([entry, entry])
        let first = try store.changes(for: "a", limit: 9)
        #expect(first.map { $0.drink?.ml } == [100])
        try store.confirmChanges(of: "a", through: first[0].sequence)
        // A known record adds no change.
        _ = try store.append([entry])
        #expect(try reported().isEmpty)
        // The same bytes in another reading replace the first drink.
        entry.amountMl = 25
        entry.reading = "strict/u8"
        _ = try store.append([entry])
        let second = try store.changes(for: "a", limit: 9)
        #expect(
            second.map { $0.drink.map { "\($0.ml)" } ?? "gone \($0.key)" } == ["gone A|2026-06-15T10:00:00|100", "25"])
    }

    @Test func `the lifetime total never decreases`() throws {
        _ = try store.openPublisher("a") { "a" }
        let drink = try store.logDrink(ml: 300, context())
        #expect(try store.lifetimeTotal(for: "a") == 300)
        _ = try store.deleteDrink("d\(drink.number)", context(1))
        #expect(try store.lifetimeTotal(for: "a") == 300)
        _ = try store.logDrink(ml: 350, context(2))
        #expect(try store.lifetimeTotal(for: "a") == 350)
    }

    @Test func `retained topics are stored until they are deleted`() throws {
        _ = try store.openPublisher("a") { "a" }
        try store.recordRetained(["t/2", "t/1"], of: "a")
        try store.recordRetained(["t/2", "t/3"], of: "a")
        #expect(try store.retainedTopics(of: "a") == ["t/1", "t/2", "t/3"])
        try store.deleteRetained(["t/1", "t/9"], of: "a")
        _ = try store.closePublisher("a")
        #expect(try store.retainedTopics(of: "a") == ["t/2", "t/3"])
        try store.recordRetained(["t/4"], of: "unknown")
        #expect(try store.retainedTopics(of: "unknown").isEmpty)
    }

    @Test func `drinks of a restored backup are not published`() throws {
        let folder = try TemporaryFolder()
        let other = try TrackerStore(path: folder.file("other.sqlite"), hostZone: "UTC")
        for ml in 1...30 { _ = try other.logDrink(ml: ml, context()) }
        try other.backUp(to: folder.file("backup.sqlite"))
        let store = try TrackerStore(path: folder.file("store.sqlite"), hostZone: "UTC")
        #expect(try !store.hasRowsToReplace())
        _ = try store.openPublisher("a") { "mine" }
        #expect(try !store.hasRowsToReplace())
        try store.recordRetained(["t"], of: "a")
        for ml in 1...40 { _ = try store.logDrink(ml: ml, context()) }
        try store.confirmChanges(of: "a", through: 40)
        try store.restore(from: folder.file("backup.sqlite"), scratch: folder.path)
        #expect(try store.openPublisher("a") { "other" }.id == "mine")
        #expect(try store.waitingChanges(for: "a") == 0 && store.retainedTopics(of: "a") == ["t"])
        _ = try store.logDrink(ml: 77, context(9))
        #expect(try store.changes(for: "a", limit: 9).map { $0.drink?.ml } == [77])
    }

    @Test func `topics at another broker are stale until it is used again`() throws {
        _ = try store.openPublisher("a") { "a" }
        try store.setAddress("here", of: "a")
        try store.recordRetained(["t/1", "t/2"], of: "a")
        try store.setAddress("here", of: "a")
        #expect(try store.staleTopics().isEmpty && store.retainedTopics(of: "a").count == 2)
        try store.setAddress("there", of: "a")
        #expect(
            try store.staleTopics() == [StaleTopics(brokerAddress: "here", id: "a", topics: ["t/1", "t/2"])]
                && store.retainedTopics(of: "a").isEmpty)
        try store.recordRetained(["t/3"], of: "a")
        try store.setAddress("here", of: "a")
        #expect(
            try store.staleTopics() == [StaleTopics(brokerAddress: "there", id: "a", topics: ["t/3"])]
                && store.retainedTopics(of: "a") == ["t/1", "t/2"])
        try store.markTopicsStale(of: "a")
        #expect(try store.staleTopics().map(\.brokerAddress) == ["here", "there"])
    }

    @Test func `a purge deletes everything except the list of stale topics`() throws {
        _ = try store.openPublisher("a") { "a" }
        try store.recordRetained(["t"], of: "a")
        _ = try store.logDrink(ml: 100, context())
        try store.purge()
        #expect(
            try store.rowCounts().allSatisfy {
                $0.rows == 0 || ["drink_sequence", "stale_topic"].contains($0.table)
            })
        // The broker keeps the topic until it is cleared.
        let left = try #require(try store.staleTopics().first)
        #expect(left == StaleTopics(brokerAddress: "", id: "a", topics: ["t"]))
        #expect(try !store.hasRowsToReplace())
        try store.delete(left)
        #expect(try store.staleTopics().isEmpty)
        #expect(try store.openPublisher("a") { "b" }.id == "b")
        _ = try store.logDrink(ml: 200, context(1))
        #expect(try reported() == ["200"])
    }
}
