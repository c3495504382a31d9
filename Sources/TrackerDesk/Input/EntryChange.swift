import TrackerCore

/// What to change in a drink or in an entry of a session; whatever is `nil` stays.
public struct EntryChange: Hashable, Sendable {
    /// A drink's amount.
    public var ml: Int?
    /// When it was.
    public var at: Instant?
    /// When a drink was, on the clock of the place where it was drunk: it stays in its day.
    public var time: TimeOfDay?
    /// Standard drinks of an entry with alcohol.
    public var estimate: Double?
    /// Ounces of a water.
    public var oz: Double?

    public init(ml: Int? = nil, at: Instant? = nil, time: TimeOfDay? = nil, estimate: Double? = nil, oz: Double? = nil) {
        (self.ml, self.at, self.time, self.estimate, self.oz) = (ml, at, time, estimate, oz)
    }
}
