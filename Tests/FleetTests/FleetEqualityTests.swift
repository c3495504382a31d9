import Foundation
import Store
import Support
import Testing
import TrackerCore

@testable import FleetStore
@testable import FleetWire

/// The gateway's own store in SQLite as the judge: what it says of a day, the fleet says, too.
@Suite(
    "A fleet's days are those of the stores",
    .enabled(if: PostgreSQL.isInstalled, "PostgreSQL 15 is not installed: apt-get install postgresql-15"))
struct FleetEqualityTests {
    @Test(arguments: [1, 2, 3] as [UInt64]) func randomPeopleZonesLateAndRepeatedBatches(number: UInt64) async throws {
        let seed = ProcessInfo.processInfo.environment["WATERH_FLEET_SEED"].flatMap(UInt64.init) ?? number
        print("fleet equality: seed \(seed)")
        var chance = SeededGenerator(seed: seed)
        let fleet = FleetStore(try FleetConnection(try await PostgreSQL.database()))
        let gateway = try FleetStoreTests.gateway(fleet, "one")
        let folder = try TemporaryFolder()
        let zones = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Auckland"]
        for person in ["anna", "bob", "carla"] {
            let store = try TrackerStore(path: folder.file("\(person).sqlite"), hostZone: "UTC")
            let outlet = try store.openOutlet("fleet") { "store-\(person)" }
            let zone = try Zone(#require(zones.randomElement(using: &chance)))
            // 2026-03-27: two days before Berlin's clocks change.
            var now = Instant(seconds: 1_774_569_600), told: [FleetEntry] = []
            for _ in 0..<60 {
                now = Instant(seconds: now.milliseconds / 1000 + Int64.random(in: 60..<20_000, using: &chance))
                let id = "\(person)-\(chance.next())"
                let context = WriteContext(now: now, zone: zone, source: "cli", makeID: { id })
                if Int.random(in: 0..<6, using: &chance) == 0 {
                    _ = try? store.undo(context)
                } else {
                    _ = try store.logDrink(ml: Int.random(in: 1...600, using: &chance), context)
                }
                guard Int.random(in: 0..<3, using: &chance) == 0 else { continue }
                try tell(store, outlet.id, person, &told, gateway, fleet, &chance)
            }
            try tell(store, outlet.id, person, &told, gateway, fleet, &chance)
            let own = try store.totals(from: LocalDay(daysSince1970: 0), through: LocalDay(daysSince1970: 40_000)).map {
                "\($0.day) \($0.totalMl) \($0.count)"
            }
            let there = try #require(try fleet.days(of: person)).map { "\($0.day) \($0.ml) \($0.drinks)" }
            #expect(there == own && own.count > 2, "seed \(seed), \(person) in \(zone.id)")
        }
        let rolls = "SELECT * FROM day_roll ORDER BY person, day"
        let kept = try fleet.connection.run(rolls)
        try fleet.rebuild()
        #expect(try fleet.connection.run(rolls) == kept, "seed \(seed)")
    }

    /// The fleet's day began at four for everybody: whoever has it begin at midnight or at six was shown another day's
    /// water for hours.
    @Test(arguments: [1, 2, 3] as [UInt64]) func todayBeginsWhenEachPersonSaysSo(number: UInt64) async throws {
        let seed = ProcessInfo.processInfo.environment["WATERH_FLEET_SEED"].flatMap(UInt64.init) ?? number
        print("fleet days: seed \(seed)")
        var chance = SeededGenerator(seed: seed)
        let fleet = FleetStore(try FleetConnection(try await PostgreSQL.database()))
        let gateway = try FleetStoreTests.gateway(fleet, "one")
        let folder = try TemporaryFolder()
        // 2026-03-27: two days before Berlin's clocks change.
        let first = Int64(1_774_569_600), last = first + 4 * 86_400
        var people: [(name: String, zone: Zone, store: TrackerStore)] = []
        for number in 0..<8 {
            let name = "person-\(number)"
            let store = try TrackerStore(path: folder.file("\(name).sqlite"), hostZone: "UTC")
            let outlet = try store.openOutlet("fleet") { "store-\(name)" }
            let zone = try Zone(
                #require(
                    ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Auckland"].randomElement(
                        using: &chance)))
            let boundary = number == 7 ? 4 : Int.random(in: 0...6, using: &chance)
            try store.changeSettings(
                [("day.boundaryHour", "\(boundary)")],
                WriteContext(now: Instant(seconds: first), zone: zone, source: "cli", makeID: { "x" }))
            var told: [FleetEntry] = [], now = first
            while now < last {
                let id = "\(name)-\(chance.next())"
                _ = try store.logDrink(
                    ml: Int.random(in: 1...600, using: &chance),
                    WriteContext(now: Instant(seconds: now), zone: zone, source: "cli", makeID: { id }))
                now += Int64.random(in: 600..<7200, using: &chance)
            }
            try tell(store, outlet.id, name, &told, gateway, fleet, &chance)
            // Nobody tells what is so as long as nobody chose.
            if boundary != 4 { try fleet.take([], of: name, in: outlet.id, from: gateway, boundary: boundary) }
            people.append((name, zone, store))
        }
        for _ in 0..<40 {
            let now = Instant(seconds: Int64.random(in: first + 86_400..<last, using: &chance))
            let overview = try fleet.overview(now: now)
            for (name, zone, store) in people {
                let today = DayCalendar(zone: zone, boundaryHour: try store.settings().boundaryHour).day(of: now)
                let own =
                    try store.totals(from: today, through: today).map { "\($0.day) \($0.totalMl) \($0.count)" }.first
                    ?? "\(today) 0 0"
                let there = overview.people.first { $0.name == name }
                #expect(
                    there.map { "\($0.day) \($0.todayMl) \($0.drinks)" } == own,
                    "seed \(seed), \(name) in \(zone.id) at \(now)")
            }
        }
    }

    /// What waits, cut anywhere, now and then with what was told before, in any order.
    private func tell(
        _ store: TrackerStore, _ id: String, _ person: String, _ told: inout [FleetEntry], _ gateway: FleetVisitor,
        _ fleet: FleetStore, _ chance: inout SeededGenerator
    ) throws {
        let changes = try store.changes(for: "fleet", limit: 1000)
        let entries = changes.map { change in
            FleetEntry(
                person: person, store: id, place: change.sequence, key: change.key,
                drink: change.drink.map {
                    .init(
                        at: $0.at, zone: $0.zone, day: $0.localDay, ml: $0.ml, isDeleted: $0.isDeleted,
                        changed: $0.updatedAt)
                })
        }
        told += entries
        for _ in 0...Int.random(in: 0...2, using: &chance) {
            var batch = entries + told.filter { _ in Int.random(in: 0..<5, using: &chance) == 0 }
            batch.shuffle(using: &chance)
            _ = try fleet.take(FleetStoreTests.lines(batch), from: gateway)
        }
        if let last = changes.last { try store.delivered("fleet", through: last.sequence) }
    }
}
