import Foundation
import Store
import Support
import Synchronization
import Testing
import TrackerCore

/// A write at a time given as text, in a zone; `counted` gives the same identifiers in every call.
func context(
    _ now: String = "2026-02-03T18:00:00Z", zone: String = "UTC", source: String = "cli", counted: Bool = false
) throws -> WriteContext {
    let count = Atomic(0)
    return WriteContext(
        now: try #require(Instant(iso: now)), zone: try Zone(zone), source: source,
        makeID: { counted ? "id-\(count.wrappingAdd(1, ordering: .relaxed).newValue)" : UUID().uuidString })
}

/// A write at an instant, with new identifiers.
func context(at now: Instant, zone: Zone = .utc) -> WriteContext {
    WriteContext(now: now, zone: zone, source: "cli", makeID: { UUID().uuidString.lowercased() })
}

/// A write on 2026-06-15 in Berlin (CEST).
func berlin(_ wall: String) throws -> WriteContext {
    try context("2026-06-15T\(wall):00+02:00", zone: "Europe/Berlin")
}

func day(_ text: String) throws -> LocalDay { try #require(LocalDay(text)) }

/// A bottle's drink at a wall-clock time.
func sip(_ wall: String, _ ml: Int, bottle: String = "b1", offset: String = "Z", zone: String = "UTC") throws
    -> JournalEntry
{
    let wall = try #require(WallTime(wall))
    let at = try #require(Instant(iso: "\(wall)\(offset)"))
    return JournalEntry(
        bottle: bottle,
        raw: [
            0x1A, UInt8(wall.month), UInt8(wall.day), UInt8(wall.hour), UInt8(wall.minute), UInt8(wall.second),
            UInt8(ml >> 8), UInt8(ml & 255), 0, 0, 1, 0x61, 0,
        ],
        wall: wall, amountMl: ml, received: at, verdict: .drink(at: at, zone: zone))
}

@Suite struct DrinkTests {
    let store: TrackerStore

    init() throws { store = try TrackerStore(inMemory: nil) }

    private func total(_ day: String) throws -> Int {
        try store.drinks(on: LocalDay(day) ?? LocalDay(daysSince1970: 0)).reduce(0) { $0 + $1.ml }
    }

    @Test func `scenario A6: a deleted drink stays deleted when it is ingested again`() throws {
        let now = try context()
        let first = [try sip("2026-02-03T16:00:00", 100), try sip("2026-02-03T17:00:00", 200)]
        _ = try store.append(first)
        #expect(try total("2026-02-03") == 300)
        #expect(try store.append(first) == [.duplicate, .duplicate])
        _ = try store.append([try sip("2026-02-03T17:30:00", 50)])
        #expect(try total("2026-02-03") == 350)
        _ = try store.append([try sip("2026-02-02T16:00:00", 100), first[1]])
        #expect(try total("2026-02-03") == 350 && total("2026-02-02") == 100)
        _ = try store.append(first.reversed())
        #expect(try store.lastDrink()?.drink.at == Instant(iso: "2026-02-03T17:30:00Z"))
        _ = try store.deleteDrink("b1|2026-02-03T17:00:00|200", now)
        #expect(try store.append(first) == [.duplicate, .duplicate])
        #expect(try total("2026-02-03") == 150)
        #expect(try total("2026-02-04") == 0)
    }

    /// T-20 and T-21: the day is set at import. The night of 25 hours counts by the wall clock.
    @Test func `a stored drink has the day that vectors T20 and T21 expect`() throws {
        let travel = try TrackerStore(inMemory: "America/New_York")
        var evening = try sip("2026-06-01T23:30:00", 200)
        evening.verdict = .drink(at: try #require(Instant(iso: "2026-06-02T03:30:00Z")), zone: "America/New_York")
        _ = try travel.append([evening])
        let stored = try #require(try travel.drinks(on: day("2026-06-01")).first)
        #expect(stored.zone == "America/New_York")
        #expect(try travel.drinks(on: day("2026-06-02")).isEmpty)

        for (hour, ml) in [("00:30", 100), ("01:30", 150), ("02:30", 50), ("03:00", 200)] {
            _ = try store.logDrink(ml: ml, try context("2026-10-25T\(hour):00Z", zone: "Europe/Berlin"))
        }
        #expect(try total("2026-10-24") == 300 && total("2026-10-25") == 200)
    }

    /// 23:50 corrected to 00:10 is on the next calendar day. After a journey an edit must not shift the drink by the
    /// difference of the zones.
    @Test(arguments: [
        // Boundary hour, logged instant, time zone, day, corrected local time, corrected instant.
        (4, "2026-02-03T22:50:00Z", "Europe/Berlin", "2026-02-03", "00:10", "2026-02-03T23:10:00Z"),
        (4, "2026-02-03T23:20:00Z", "Europe/Berlin", "2026-02-03", "23:40", "2026-02-03T22:40:00Z"),
        (4, "2026-02-03T22:50:00Z", "Europe/Berlin", "2026-02-03", "03:59", "2026-02-04T02:59:00Z"),
        (4, "2026-02-03T22:50:00Z", "Europe/Berlin", "2026-02-03", "04:00", "2026-02-03T03:00:00Z"),
        (0, "2026-02-03T22:50:00Z", "Europe/Berlin", "2026-02-03", "00:10", "2026-02-02T23:10:00Z"),
        (6, "2026-02-03T22:50:00Z", "Europe/Berlin", "2026-02-03", "05:30", "2026-02-04T04:30:00Z"),
        (4, "2026-02-04T02:30:00Z", "America/New_York", "2026-02-03", "21:00", "2026-02-04T02:00:00Z"),
        (4, "2026-02-03T03:30:00Z", "Asia/Tokyo", "2026-02-03", "01:15", "2026-02-03T16:15:00Z"),
        // The night of 25 hours: the repeated hour in which it was drunk. The night of 23 hours: a skipped time moves
        // after the gap.
        (4, "2026-10-25T00:20:00Z", "Europe/Berlin", "2026-10-24", "02:40", "2026-10-25T00:40:00Z"),
        (4, "2026-10-25T01:20:00Z", "Europe/Berlin", "2026-10-24", "02:40", "2026-10-25T01:40:00Z"),
        (4, "2026-03-28T22:00:00Z", "Europe/Berlin", "2026-03-28", "02:30", "2026-03-29T01:30:00Z"),
    ])
    func `a corrected time keeps its zone`(
        boundary: Int, at: String, zone: String, day: String, time: String, then: String
    ) throws {
        try store.changeSettings([("day.boundaryHour", "\(boundary)")], context(at, zone: zone))
        let logged = try store.logDrink(ml: 250, context(at, zone: zone))
        #expect(logged.localDay.description == day)
        let edited = try store.editDrink(
            "d\(logged.number)", time: TimeOfDay(time), context("2026-12-01T12:00:00Z", zone: "Europe/Berlin"))
        #expect(
            edited.at == Instant(iso: then) && edited.zone == zone && edited.localDay.description == day, "\(edited)")
    }

    @Test func `a corrected time in the future is rejected`() throws {
        let now = try context("2026-02-03T22:50:00Z", zone: "Europe/Berlin")
        let logged = try store.logDrink(ml: 250, now)
        let refusal = #expect(throws: Refusal.self) {
            try store.editDrink("d\(logged.number)", time: TimeOfDay("00:10"), now)
        }
        #expect(
            refusal?.sentence == "00:10 is before 04:00: on this day, that is the next morning, which is in the future."
        )
        #expect(throws: Refusal.self) { try store.editDrink("d\(logged.number)", time: TimeOfDay("23:55"), now) }
    }

    @Test func `a drink keeps its day after a change of the boundary hour`() throws {
        let night = try context("2026-02-04T02:00:00Z")
        let logged = try store.logDrink(ml: 250, night)
        try store.changeSettings([("day.boundaryHour", "0")], night)
        let edited = try store.editDrink("d\(logged.number)", time: TimeOfDay("01:50"), context("2026-02-05T12:00:00Z"))
        #expect(
            edited.at == Instant(iso: "2026-02-04T01:50:00Z") && edited.localDay.description == "2026-02-03",
            "\(edited)")
    }

    @Test func `reset-today deletes only today's drinks`() throws {
        let now = try context()
        let rows = [
            try sip("2026-02-03T16:00:00", 100), try sip("2026-02-03T16:30:00", 100),
            try sip("2026-02-03T17:00:00", 200),
        ]
        _ = try store.append(rows + [try sip("2026-02-02T16:00:00", 70)])
        _ = try store.logDrink(ml: 300, now)
        #expect(try store.resetToday(now).count == 4)
        _ = try store.append(rows)
        #expect(try total("2026-02-03") == 0 && total("2026-02-02") == 70)
        _ = try store.append([try sip("2026-02-03T17:45:00", 30)])
        #expect(try total("2026-02-03") == 30)
    }

    @Test func `undo reverts manual changes, newest first`() throws {
        let now = try context()
        _ = try store.append([try sip("2026-02-03T16:00:00", 100)])
        let logged = try store.logDrink(ml: 250, now)
        _ = try store.editDrink("d\(logged.number)", ml: 300, at: Instant(iso: "2026-02-03T03:00:00Z"), now)
        #expect(try total("2026-02-02") == 300)
        _ = try store.resetToday(now)
        #expect(try store.undo(now) == "reset of today (1 drink)")
        #expect(try total("2026-02-03") == 100)
        #expect(try store.undo(now) == "edit of 250 ml")
        #expect(try total("2026-02-03") == 350)
        #expect(try store.undo(now) == "log 250 ml")
        #expect(try total("2026-02-03") == 100)
        #expect(throws: Refusal.self) { try store.undo(now) }
    }

    @Test(arguments: [0, 2001, -5, Int.max]) func `amounts out of range are rejected`(ml: Int) throws {
        let now = try context()
        let refusal = #expect(throws: Refusal.self) { try store.logDrink(ml: ml, now) }
        #expect(refusal?.rule == "amountRange")
        #expect(try total("2026-02-03") == 0)
    }

    /// Any split, order or repetition of imports gives the same days, and SQL sums equal the fold.
    @Test(arguments: [UInt64](1...20)) func `ingesting is independent of order and repetition`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let all = try (0..<120).map { _ in
            try sip(
                "2026-0\(Int.random(in: 1...3, using: &random))-1\(Int.random(in: 0...9, using: &random))"
                    + "T\(Int.random(in: 10...23, using: &random)):00:0\(Int.random(in: 0...9, using: &random))",
                Int.random(in: 1...3, using: &random), bottle: "b\(Int.random(in: 1...2, using: &random))")
        }
        _ = try store.append(all)
        let other = try TrackerStore(inMemory: nil)
        var rest = (all + all.shuffled(using: &random)).shuffled(using: &random)[...]
        while !rest.isEmpty {
            let size = min(rest.count, Int.random(in: 1...30, using: &random))
            _ = try other.append(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        let first = try day("2026-01-01")
        let last = try day("2026-12-31")
        let sums = try store.totals(from: first, through: last)
        #expect(try other.totals(from: first, through: last) == sums, "seed \(seed)")
        var fold: [LocalDay: Int] = [:]
        for drink in try other.allDrinks() {
            fold[drink.localDay, default: 0] += drink.ml
        }
        #expect(Dictionary(uniqueKeysWithValues: sums.map { ($0.day, $0.totalMl) }) == fold, "seed \(seed)")
    }
}
