/// Who changes something, and when: the store reads no clock and draws no random numbers.
public struct WriteContext: Sendable {
    public var now: Instant
    /// The zone that days are counted in (`day.zone`, or the host's).
    public var zone: Zone
    /// The surface: `cli`, `web`, `http`, `mqtt`, `dbus`, `notification`, `bottle`, `health`.
    public var source: String
    /// A new identifier each time it is called; random UUIDs outside tests.
    public var makeID: @Sendable () -> String

    public init(now: Instant, zone: Zone, source: String, makeID: @escaping @Sendable () -> String) {
        self.now = now
        self.zone = zone
        self.source = source
        self.makeID = makeID
    }
}
