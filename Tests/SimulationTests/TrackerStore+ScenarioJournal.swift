import Simulation
import Store
import TrackerCore

/// The product's store as the journal of a simulation.
extension TrackerStore: ScenarioJournal {
    var entries: [JournalEntry] {
        var entries: [JournalEntry] = []
        try? forEachWireEntry(gateway: "scenario") { entries.append($0.entry) }
        return entries
    }

    func total(on day: LocalDay, in calendar: DayCalendar) -> Int {
        (try? totals(from: day, through: day).first?.totalMl) ?? 0
    }

    func holds(_ raw: [UInt8]) -> Bool { entries.contains { $0.raw == raw } }
}
