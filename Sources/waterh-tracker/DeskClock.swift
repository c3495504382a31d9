import CommandSupport
import TrackerCore

/// The clock of a command that goes on: the machine's, or one that began at `--now` and runs faster.
struct DeskClock: Sendable {
    /// `nil`: the machine's.
    private let start: Instant?
    private let speed: Double
    private let began = ContinuousClock.now

    init(from start: Instant?, speed: Double) {
        self.start = start ?? (speed == 1 ? nil : Machine.now())
        self.speed = speed
    }

    func now() -> Instant {
        start.map { $0.advanced(seconds: (ContinuousClock.now - began) / .seconds(1) * speed) } ?? Machine.now()
    }

    /// How long that is for somebody who waits.
    func real(_ length: Duration) -> Duration { length / speed }
}
