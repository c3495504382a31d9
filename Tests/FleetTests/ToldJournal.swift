import GatewaySupport
import Store
import Synchronization
import Testing
import TrackerCore

@testable import FleetStore
@testable import FleetWire

/// A store whose fleet is told of everything at once, over the wire's own lines and twice, as after a lost answer.
/// After each step the fleet has to hold what the store holds: every drink with its moment, zone, day, amount and
/// bytes, and every record that lies in doubt.
final class ToldJournal: Journal {
    let store: TrackerStore
    private let fleet: Mutex<FleetStore>
    private let gateway: FleetVisitor
    private let outlet: Outlet

    init() async throws {
        store = try TrackerStore(inMemory: nil)
        let words = try await PostgreSQL.database()
        fleet = Mutex(FleetStore(try FleetConnection(words)))
        gateway = try fleet.withLock { try FleetStoreTests.gateway($0, "anna") }
        outlet = try store.openOutlet("fleet") { "a-store" }
    }

    // MARK: - What changes what the fleet holds

    func append(_ entries: [JournalEntry]) throws -> [JournalOutcome] {
        let outcome = Result { try store.append(entries) }
        // A batch that failed left nothing of it, there neither.
        try fleet.withLock { try tell($0) }
        return try outcome.get()
    }

    private func tell(_ fleet: FleetStore) throws {
        while case let changes = try store.changes(for: outlet.name, limit: 500), let last = changes.last {
            let records = try store.records(ofDrinks: changes.map(\.key))
            let entries = changes.map { change in
                FleetEntry(
                    person: nil, store: outlet.id, place: change.sequence, key: change.key,
                    drink: change.drink.map {
                        .init(
                            at: $0.at, zone: $0.zone, day: $0.localDay, ml: $0.ml, isDeleted: $0.isDeleted,
                            changed: $0.updatedAt)
                    },
                    record: records[change.key].map { .init(raw: hexadecimal($0.raw), received: $0.received) })
            }
            let lines = try FleetLines(FleetLines.bytes(entries))
            #expect(try fleet.take(lines, from: gateway).parked == 0)
            #expect(try fleet.take(lines, from: gateway).taken == 0, "told again it changes nothing")
            try store.delivered(outlet.name, through: last.sequence)
        }
        let doubts = try store.doubtfulRecords().map {
            FleetDoubt(
                bottle: $0.bottle, raw: hexadecimal($0.raw), wall: $0.wall, ml: $0.amountMl,
                reason: $0.reason ?? "unknown", received: $0.received)
        }
        let wired = try FleetLines.doubts(FleetLines.bytes(doubts))
        for _ in 1...2 { try fleet.take(wired, of: nil, in: outlet.id, from: gateway) }
        #expect(try Set(fleet.doubts(of: "anna", limit: 10_000)) == Set(doubts))
        try compare(fleet)
    }

    private func compare(_ fleet: FleetStore) throws {
        let own = try store.allDrinks()
        let records = try store.records(ofDrinks: own.map(\.key))
        let here = own.map {
            """
            \($0.key) \($0.at.milliseconds) \($0.zone) \($0.localDay) \($0.ml) \
            \(records[$0.key].map { hexadecimal($0.raw) } ?? "")
            """
        }
        let there = try fleet.connection.run(
            "SELECT key, at, zone, day, ml, coalesce(raw, '') FROM drink WHERE person = 'anna' AND NOT deleted"
        ).map { row in
            row.map { $0 ?? "" }.joined(separator: " ")
        }
        #expect(here.sorted() == there.sorted())
        let first = LocalDay(daysSince1970: 0), last = LocalDay(daysSince1970: 40_000)
        let totals = try store.totals(from: first, through: last).map { "\($0.day) \($0.totalMl) \($0.count)" }
        #expect(try (fleet.days(of: "anna") ?? []).map { "\($0.day) \($0.ml) \($0.drinks)" } == totals)
    }

    private func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
    }

    // MARK: - What stays at the gateway

    func recall(_ names: BottleNames) throws -> BottleMemory { try store.recall(names) }
    func adopt(_ names: BottleNames) throws { try store.adopt(names) }
    func isOwn(_ bottle: String) throws -> Bool { try store.isOwn(bottle) }
    func unsettled(
        of bottle: String, reading: String, since: Int64?, openYears: Bool, ahead: Instant?, after id: Int64, limit: Int
    ) throws -> [UnsettledRecord] {
        try store.unsettled(
            of: bottle, reading: reading, since: since, openYears: openYears, ahead: ahead, after: id, limit: limit)
    }
    func noteClockSetting(of bottle: String, _ mark: ClockMark, wasNear: Bool) throws {
        try store.noteClockSetting(of: bottle, mark, wasNear: wasNear)
    }
    func standing(of records: [[UInt8]], from bottle: String) throws -> [Instant?] {
        try store.standing(of: records, from: bottle)
    }
    func likeness(of log: [[UInt8]], to bottle: String) throws -> LogLikeness {
        try store.likeness(of: log, to: bottle)
    }
    func finishPoll(_ report: PollRecord) throws { try store.finishPoll(report) }
    func quarantine(bottle: String, bytes: [UInt8], reason: String, received: Instant) throws {
        try store.quarantine(bottle: bottle, bytes: bytes, reason: reason, received: received)
    }
}
