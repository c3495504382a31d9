/// Who changes something, and when: the store reads no clock and draws no random numbers.
package struct WriteContext: Sendable {
    /// The time of the change.
    package var now: Instant
    /// The zone that days are counted in (`day.zone`, or the host's).
    package var zone: Zone
    /// The surface: `cli`, `web`, `http`, `mqtt`, `dbus`, `notification`, `bottle`, `health`.
    package var source: String
    /// A new identifier each time it is called; random UUIDs outside tests.
    package var makeID: @Sendable () -> String
    /// Why a service holds back hydration notifications; `nil`: it does not.
    package var hold: ReminderHold?
    /// Whether somebody asked for this moment (`--now`) instead of reading a clock. What is asked for a moment knows
    /// nothing of later ones; a clock that was set back takes no drink away that was drunk before it.
    package var isAsked: Bool

    package init(
        now: Instant, zone: Zone, source: String, isAsked: Bool = false, makeID: @escaping @Sendable () -> String
    ) {
        self.now = now
        self.zone = zone
        self.source = source
        self.makeID = makeID
        self.isAsked = isAsked
    }

    /// The moment after which nothing is known, where one was asked for.
    package var asked: Instant? { isAsked ? now : nil }
}
