/// How long connections with a bottle have stood, all in all.
struct LinkTime: Sendable {
    private var past = Duration.zero
    /// Since when the one stands that is there now.
    private var since: ContinuousClock.Instant?

    /// A connection is there, or none is. Told twice it is the same one.
    mutating func note(isUp: Bool, at now: ContinuousClock.Instant = .now) {
        if isUp {
            since = since ?? now
        } else if let since {
            past += now - since
            self.since = nil
        }
    }

    /// Until now.
    var seconds: Double { (past + (since.map { .now - $0 } ?? .zero)) / .seconds(1) }
}
