import TrackerCore

/// What to change in a drink or in an entry of a session; whatever is `nil` stays.
package struct EntryChange: Hashable, Sendable {
    /// A drink's amount.
    package var ml: Int?
    /// When it was.
    package var at: Instant?
    /// When a drink was, on the clock of the place where it was drunk: it stays in its day.
    package var time: TimeOfDay?
    /// When it was, as a person types it. A time of day alone is, of a drink, that of the day which it was drunk on:
    /// one of the day before yesterday stays there. Of an entry of a session it is the latest that is past.
    package var typed: String?
    /// Standard drinks of an entry with alcohol.
    package var estimate: Double?
    /// Ounces of a water.
    package var oz: Double?

    package init(
        ml: Int? = nil, at: Instant? = nil, time: TimeOfDay? = nil, typed: String? = nil, estimate: Double? = nil,
        oz: Double? = nil
    ) {
        (self.ml, self.at, self.time, self.typed, self.estimate, self.oz) = (ml, at, time, typed, estimate, oz)
    }
}
