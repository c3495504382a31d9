package import TrackerCore

/// A journal with read access, so that the simulation can check it.
package protocol ScenarioJournal: Journal {
    var entries: [JournalEntry] { get }
    /// The amount of a day in millilitres. Each poll reads it, so a journal with a sum of its own overrides it.
    func total(on day: LocalDay, in calendar: DayCalendar) -> Int
    /// Whether the journal has these bytes as a record in any form.
    func holds(_ raw: [UInt8]) -> Bool
}

extension ScenarioJournal {
    package func total(on day: LocalDay, in calendar: DayCalendar) -> Int {
        entries.days(in: calendar)[day] ?? 0
    }
}

extension [JournalEntry] {
    /// Totals as a fold over the journal (invariant 3).
    func days(in calendar: DayCalendar) -> [LocalDay: Int] {
        reduce(into: [:]) { days, entry in
            guard case .drink(let instant, _) = entry.verdict else { return }
            days[calendar.day(of: instant), default: 0] += entry.amountMl
        }
    }
}
