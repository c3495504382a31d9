/// The author and the time of a change. The store reads no clock and generates no random numbers.
package struct WriteContext: Sendable {
    package var now: Instant
    /// The time zone of days (`day.zone`, or the host's).
    package var zone: Zone
    /// The interface: `cli`, `web`, `http`, `mqtt`, `dbus`, `notification`, `bottle`, `health`.
    package var source: String
    /// Returns a new identifier at each call; random UUIDs outside tests.
    package var makeID: @Sendable () -> String
    /// The reason why a service holds back hydration notifications; `nil` if it does not.
    package var reminderHold: ReminderHold?
    /// Whether the user set this moment (`--now`), so that later drinks do not count. Otherwise all drinks count.
    package var isExplicit: Bool

    package init(
        now: Instant, zone: Zone, source: String, isExplicit: Bool = false, makeID: @escaping @Sendable () -> String
    ) {
        self.now = now
        self.zone = zone
        self.source = source
        self.makeID = makeID
        self.isExplicit = isExplicit
    }

    /// The moment of `--now`; `nil` if the user did not set one.
    package var explicitNow: Instant? { isExplicit ? now : nil }
}
