import GRDB
import GatewaySupport
import Store
import Support
import Testing
import TrackerCore

@Suite final class DrinkLineTests: StoreFixture {
    let context: WriteContext

    override init() throws {
        context = try StoreTests.context("2026-02-02T22:21:15Z", counted: true)
        try super.init()
    }

    /// All changes after a position, for a reader that has the earlier ones.
    private func reported(after position: Int64, limit: Int = 500) throws -> [String] {
        let last = try store.lastDrinkPosition()
        var (at, lines) = (position, [String]())
        repeat {
            let found = try store.drinkLines(after: at, known: position, through: last, limit: limit)
            #expect(found.position > at || found.position == last)
            #expect(found.lines.allSatisfy { $0.position > at && $0.position <= found.position })
            lines += found.lines.map {
                "\($0.change) \($0.drink.key) \($0.drink.ml)\($0.original.map { " of \($0)" } ?? "")"
            }
            at = found.position
        } while at < last
        return lines
    }

    @Test(arguments: [1, 2, 500]) func `a reader receives edits as corrections and deletions`(limit: Int) throws {
        #expect(try reported(after: 0, limit: limit).isEmpty)
        let first = try store.logDrink(ml: 100, context)
        _ = try store.logDrink(ml: 200, context)
        #expect(try reported(after: 0, limit: limit) == ["added id-1 100", "added id-2 200"])
        let seen = try store.lastDrinkPosition()
        _ = try store.editDrink("d\(first.number)", ml: 150, context)
        #expect(try reported(after: seen, limit: limit) == ["deleted id-1 100", "corrected id-3 150 of id-1"])
        // A new reader gets the current drinks and no removed ones.
        #expect(try reported(after: 0, limit: limit) == ["added id-2 200", "corrected id-3 150 of id-1"])
        let edited = try store.lastDrinkPosition()
        _ = try store.deleteDrink("d2", context)
        #expect(try reported(after: edited, limit: limit) == ["deleted id-2 200"])
        let deleted = try store.lastDrinkPosition()
        _ = try store.undo(context)
        #expect(try reported(after: deleted, limit: limit) == ["changed id-2 200"])
        #expect(try reported(after: store.lastDrinkPosition(), limit: limit).isEmpty)
    }

    /// A batch assigns consecutive positions to its drinks, also between drinks with given positions.
    @Test func `sips and manual drinks have positions in the order of storage`() throws {
        _ = try store.logDrink(ml: 100, context)
        _ = try store.append([entry(second: 1), entry(second: 2), entry(second: 1)])
        _ = try store.logDrink(ml: 200, context)
        _ = try store.append([entry(second: 2), entry(second: 3)])
        _ = try store.editDrink("d1", ml: 110, context)
        let rows = try scratch.withDatabase {
            try Row.fetchAll($0, sql: "SELECT firstPosition, position FROM drink ORDER BY id").map {
                [$0["firstPosition"], $0["position"]] as [Int64]
            }
        }
        // An edit is a new drink. The drink that it replaces is deleted after it or before it.
        let last = try store.lastDrinkPosition()
        #expect(rows.dropFirst().prefix(4).map { $0.map { $0 - rows[0][0] } } == [[1, 1], [2, 2], [3, 3], [4, 4]])
        #expect(Set(rows.map { $0[1] }).count == 6 && rows.map { $0[1] }.max() == last, "\(rows)")
    }

    @Test func `a changed decoding is reported in the order of its batch`() throws {
        _ = try store.append([entry(second: 1)])
        let seen = try store.lastDrinkPosition()
        var moved = entry(second: 1)
        (moved.reading, moved.amountMl) = ("strict/u8", 9)
        #expect(try store.append([entry(second: 2), moved, entry(second: 3)]) == [.stored, .duplicate, .stored])
        let last = try store.lastDrinkPosition()
        let lines = try store.drinkLines(after: seen, known: seen, through: last, limit: 10).lines
        #expect(
            lines.map { "\($0.position - seen) \($0.change) d\($0.number)" } == [
                "1 added d2", "2 changed d1", "3 added d3",
            ])
        #expect(last == seen + 3)
    }

    /// A reader that resumes at its position after a purge must not get the rest of a different history.
    @Test func `a position from before a purge or from another store is invalid`() throws {
        for ml in [100, 200] { _ = try store.logDrink(ml: ml, context) }
        let seen = try store.lastDrinkPosition()
        #expect(try store.isDrinkPosition(seen) && store.isDrinkPosition(seen - 1) && !store.isDrinkPosition(seen + 1))
        let copy = try TemporaryFolder()
        let other = try TrackerStore(path: copy.store)
        for ml in 1...5 { _ = try other.logDrink(ml: ml, context) }
        #expect(try !other.isDrinkPosition(seen) && !store.isDrinkPosition(other.lastDrinkPosition()))
        try store.purge()
        #expect(try !store.isDrinkPosition(seen) && store.isDrinkPosition(store.lastDrinkPosition()))
        for ml in 1...5 { _ = try store.logDrink(ml: ml, context) }
        #expect(try !store.isDrinkPosition(seen) && store.isDrinkPosition(0) && reported(after: 0).count == 5)
        // Positions continue in every process and are exact as JavaScript numbers.
        let last = try store.lastDrinkPosition()
        #expect(try TrackerStore(path: scratch.store, for: .reading).isDrinkPosition(last) && last < 1 << 53)
    }

    @Test func `a drink added and deleted between two reads is not reported`() throws {
        _ = try store.append([entry("A4:C1:38:00:00:01")])
        let drinks = try reported(after: 0)
        #expect(drinks.count == 1 && drinks[0].hasPrefix("added A4:C1:38:00:00:01|"), "\(drinks)")
        let seen = try store.lastDrinkPosition()
        let brief = try store.logDrink(ml: 300, context)
        _ = try store.deleteDrink("d\(brief.number)", context)
        #expect(try reported(after: seen).isEmpty)
        // The same record again is not a change.
        let before = try store.lastDrinkPosition()
        _ = try store.append([entry("A4:C1:38:00:00:01")])
        #expect(try store.lastDrinkPosition() == before)
    }

    /// A reader must learn that drinks are gone, and must not get the backup's drinks as new ones.
    @Test(arguments: [1, 5], [1, 2, 500])
    func `a restored backup invalidates reader positions`(drinksInBackup: Int, limit: Int) throws {
        let busy = try TemporaryFolder()
        let other = try TrackerStore(path: busy.store)
        for ml in 0..<drinksInBackup { _ = try other.logDrink(ml: ml + 1, context) }
        let backup = busy.store + ".backup"
        _ = try other.backUp(to: backup)
        _ = try store.logDrink(ml: 100, context)
        let seen = try store.lastDrinkPosition()
        try store.restore(from: backup, scratch: scratch.path)
        #expect(try !store.isDrinkPosition(seen))
        #expect(
            try reported(after: 0, limit: limit)
                == (0..<drinksInBackup).map { "added id-\($0 + 1) \($0 + 1)" })
        let restored = try store.lastDrinkPosition()
        _ = try store.logDrink(ml: 300, context)
        #expect(try reported(after: restored, limit: limit) == ["added id-\(drinksInBackup + 2) 300"])
    }

    @Test(arguments: [1, 2, 500])
    func `imported drinks are reported in file order, before later changes`(limit: Int) throws {
        func sample(_ key: String, _ ml: Int) -> HealthSample { HealthSample(at: sampleInstant, ml: ml, uuid: key) }
        _ = try store.logDrink(ml: 100, context)
        let seen = try store.lastDrinkPosition()
        _ = try store.importSamples([sample("b", 200), sample("id-1", 100), sample("a", 300)], context)
        #expect(try reported(after: seen, limit: limit).map { $0.split(separator: " ").last } == ["200", "300"])
        let imported = try store.lastDrinkPosition()
        _ = try store.importSamples([sample("b", 200), sample("a", 300)], context)
        #expect(try reported(after: imported, limit: limit).isEmpty)
        _ = try store.logDrink(ml: 400, context)
        #expect(try reported(after: imported, limit: limit) == ["added id-2 400"])
        #expect(try reported(after: 0, limit: limit).count == 4)
    }
}
