import TrackerCore

/// Who tells the year of a record that has none: this computer's clock, and perhaps somebody agrees with it.
///
/// A computer that nobody has told the time may meet the bottle first. Then each record's year is that clock's, and
/// stays open until somebody agrees with a clock (a time server, another bottle, a person): by that one the year is
/// taken again, once (tracker law A2, rule 5). Where polls by clocks that nobody agreed with are half a year apart,
/// nobody knows which of them was right, and what the earlier told stays.
enum YearTeller: Hashable, Sendable {
    /// A recording, or a person's own look: the years are what they are.
    case notAsked
    /// Nobody agrees with this clock, and nothing in the store shows that it is near the truth.
    case alone(ClockMark)
    /// Somebody agrees. `lastPoll`: when this bottle was polled last, by the clock of then.
    case agreed(ClockMark, lastPoll: Instant?)

    init(_ mark: ClockMark, isWitnessed: Bool, _ memory: BottleMemory) {
        if isWitnessed {
            self = .agreed(mark, lastPoll: memory.lastCompletePoll)
        } else if let witness = memory.witness, -HostClock.tolerance...Self.near ~= witness.wall.seconds(to: mark.wall)
        {
            self = .notAsked
        } else {
            self = .alone(mark)
        }
    }

    /// The clock to note beside a year.
    var lone: ClockMark? { if case .alone(let mark) = self { mark } else { nil } }
    /// The clock that somebody agrees with.
    var mark: ClockMark? { if case .agreed(let mark, _) = self { mark } else { nil } }
    var isAgreed: Bool { if case .agreed = self { true } else { false } }

    /// When it was that a lone clock showed `mark`, by the clock that somebody agrees with: exact within one start of
    /// the computer. Over a restart nobody knows how long it stood; the bottle's last poll was before now, and the time
    /// between two polls went by as the clock said.
    func time(of mark: ClockMark) -> Instant? {
        guard case .agreed(let now, let lastPoll) = self else { return nil }
        if let step = mark.step(to: now) { return mark.wall.advanced(seconds: step) }
        let last = lastPoll ?? mark.wall
        guard -HostClock.tolerance...Self.near ~= mark.wall.seconds(to: last) else { return nil }
        return min(now.wall, mark.wall.advanced(seconds: last.seconds(to: now.wall)))
    }

    /// The same where it is exact only: within one start of the computer.
    func exactTime(of mark: ClockMark) -> Instant? {
        guard case .agreed(let now, _) = self, let step = mark.step(to: now) else { return nil }
        return mark.wall.advanced(seconds: step)
    }

    /// A clock that is so little ahead of one that somebody agreed with tells the year as that one would.
    private static let near: Double = 180 * 86_400
}
