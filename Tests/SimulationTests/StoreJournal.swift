import Simulation
import Store
import TrackerCore

/// The product's journal in memory.
struct StoreJournal: ScenarioJournal {
    private let store: TrackerStore

    init(zone: String) throws { store = try TrackerStore(inMemory: zone) }

    var entries: [JournalEntry] {
        var entries: [JournalEntry] = []
        try? store.forEachWireEntry(gateway: "scenario") { entries.append($0.entry) }
        return entries
    }

    func total(on day: LocalDay, in calendar: DayCalendar) -> Int {
        (try? store.totals(from: day, through: day).first?.totalMl) ?? 0
    }

    func holds(_ raw: [UInt8]) -> Bool {
        entries.contains { $0.raw == raw }
    }

    func append(_ entries: [JournalEntry]) throws -> [JournalOutcome] { try store.append(entries) }
    func recall(_ names: BottleNames) throws -> BottleMemory { try store.recall(names) }
    func adopt(_ names: BottleNames) throws { try store.adopt(names) }
    func isOwn(_ bottle: String) throws -> Bool { try store.isOwn(bottle) }
    func unsettled(of bottle: String, reading: String, after id: Int64, limit: Int) throws -> [UnsettledRecord] {
        try store.unsettled(of: bottle, reading: reading, after: id, limit: limit)
    }
    func finishPoll(_ report: PollRecord) throws { try store.finishPoll(report) }
    func quarantine(bottle: String, bytes: [UInt8], reason: String, received: Instant) throws {
        try store.quarantine(bottle: bottle, bytes: bytes, reason: reason, received: received)
    }
}
