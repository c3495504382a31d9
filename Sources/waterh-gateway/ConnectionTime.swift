/// Measures the total time of connections to bottles.
struct ConnectionTime: Sendable {
    private var completed = Duration.zero
    private var since: ContinuousClock.Instant?

    /// Records whether a connection is open. A repeated state has no effect.
    mutating func update(isUp: Bool, at now: ContinuousClock.Instant = .now) {
        if isUp {
            since = since ?? now
        } else if let since {
            completed += now - since
            self.since = nil
        }
    }

    /// The connection time up to now in seconds.
    var seconds: Double { (completed + (since.map { .now - $0 } ?? .zero)) / .seconds(1) }
}
