/// A point in time: whole milliseconds since 1970-01-01T00:00:00Z (`tracker.md` section 9).
public struct Instant: Hashable, Comparable, Sendable, Codable {
    public var milliseconds: Int64

    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    public init(seconds: Int64) {
        milliseconds = seconds * 1000
    }

    public static func < (left: Instant, right: Instant) -> Bool { left.milliseconds < right.milliseconds }

    /// Real seconds from this instant to the other, never a difference of wall clocks.
    public func seconds(to other: Instant) -> Double { Double(other.milliseconds - milliseconds) / 1000 }

    public func advanced(seconds: Double) -> Instant {
        Instant(milliseconds: milliseconds + Int64((seconds * 1000).rounded()))
    }
}
