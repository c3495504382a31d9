/// Who changes something, and when: the store reads no clock and draws no random numbers.
public struct WriteContext: Sendable {
    /// The time of the change.
    public var now: Instant
    /// The zone that days are counted in (`day.zone`, or the host's).
    public var zone: Zone
    /// The surface: `cli`, `web`, `http`, `mqtt`, `dbus`, `notification`, `bottle`, `health`.
    public var source: String
    /// A new identifier each time it is called; random UUIDs outside tests.
    public var makeID: @Sendable () -> String
    /// Whether somebody asked for this moment (`--now`) instead of reading a clock. What is asked for a moment knows
    /// nothing of later ones; a clock that was set back takes no drink away that was drunk before it.
    public var isAsked: Bool

    public init(
        now: Instant, zone: Zone, source: String, isAsked: Bool = false, makeID: @escaping @Sendable () -> String
    ) {
        self.now = now
        self.zone = zone
        self.source = source
        self.makeID = makeID
        self.isAsked = isAsked
    }

    /// The moment after which nothing is known, where one was asked for.
    public var asked: Instant? { isAsked ? now : nil }
}
