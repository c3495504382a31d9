import TrackerCore

/// A journal that can be asked what it holds, so that a world can judge it.
package protocol ScenarioJournal: Journal {
    /// Every record, with its present reading and date.
    var entries: [JournalEntry] { get }
    /// What was drunk on a day, in millilitres: asked at each poll, so a journal that can add up does it itself.
    func total(on day: LocalDay, in calendar: DayCalendar) -> Int
    /// Whether it has these bytes as a record, in some form.
    func holds(_ raw: [UInt8]) -> Bool
    /// From here on it keeps what a broker is to be told; `nil` from one that tells nobody.
    func openOutlet() throws -> (any ScenarioOutlet)?
}

extension ScenarioJournal {
    /// A fold over all records.
    package func total(on day: LocalDay, in calendar: DayCalendar) -> Int {
        JournalFold.days(entries, calendar)[day] ?? 0
    }
}
