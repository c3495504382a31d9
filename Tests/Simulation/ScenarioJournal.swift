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
        JournalTotals.days(entries, calendar)[day] ?? 0
    }
}
