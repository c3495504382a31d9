import BottleProtocol
import Bluetooth

/// The clock of the emulated bottle, with drift. A power loss resets it.
struct RunningClock: Sendable {
    /// The drift in parts per million; positive is fast.
    let drift: Int
    private var since: MonotonicInstant
    private var base: LocalTime
    /// Whether a power loss has occurred. If so, `base` counts from zero without a date.
    private(set) var isReset: Bool

    init(_ time: LocalTime, isReset: Bool, drift: Int, at now: MonotonicInstant) {
        self.drift = drift
        since = now
        base = time
        self.isReset = isReset
    }

    func time(at now: MonotonicInstant) -> LocalTime {
        let elapsed = max(0, now.nanoseconds - since.nanoseconds) / 1000
        // Calculate in microseconds, so that years of drift neither lose precision nor overflow.
        let drifted = elapsed + elapsed / 1_000_000 * Int64(drift)
        return LocalTime(milliseconds: base.milliseconds + drifted / 1000)
    }

    /// The time in the bottle's format. After a power loss, year and month are zero, and the rest is the time since the
    /// loss.
    func reading(at now: MonotonicInstant) -> BottleClock {
        let time = time(at: now)
        guard isReset else { return time.clock }
        var clock = time.clock
        clock.yearByte = 0
        clock.month = 0
        clock.day = UInt8(clamping: time.day)
        return clock
    }

    mutating func set(_ time: LocalTime, isReset: Bool = false, at now: MonotonicInstant) {
        since = now
        base = time
        self.isReset = isReset
    }

    mutating func step(milliseconds: Int64, at now: MonotonicInstant) {
        set(LocalTime(milliseconds: time(at: now).milliseconds + milliseconds), isReset: isReset, at: now)
    }

    mutating func losePower(at now: MonotonicInstant) { set(LocalTime(milliseconds: 0), isReset: true, at: now) }
}
