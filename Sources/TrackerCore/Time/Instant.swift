/// A point in time: whole milliseconds since 1970-01-01T00:00:00Z (tracker spec Section 9.1).
///
/// Arithmetic is total: whatever would pass the ends of the number stays at the end. An instant may come from a file or
/// a server, and no value of it may stop a program. What the programs take in lies in `supported`.
package struct Instant: Hashable, Comparable, Sendable, Codable {
    /// Since 1970-01-01T00:00:00Z; negative before it.
    package var milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Seconds that no millisecond count can hold stay at its end.
    package init(seconds: Int64) {
        milliseconds = seconds.saturatingMultiply(1000)
    }

    package static func < (left: Instant, right: Instant) -> Bool { left.milliseconds < right.milliseconds }

    /// Real seconds from this instant to the other, never a difference of wall clocks.
    package func seconds(to other: Instant) -> Double {
        let (difference, overflow) = other.milliseconds.subtractingReportingOverflow(milliseconds)
        return (overflow ? Double(other.milliseconds) - Double(milliseconds) : Double(difference)) / 1000
    }

    /// So many seconds later; no number of seconds at all (NaN) is no change.
    package func advanced(seconds: Double) -> Instant {
        Instant(milliseconds: milliseconds.saturatingAdd(Int64(saturating: (seconds * 1000).rounded())))
    }
}

extension Instant {
    /// What the programs take from outside: 1970-01-01T00:00:00Z to 2109-12-31T23:59:59.999Z, the years for which a
    /// zone's rules are known. Every entry refuses the rest with a sentence: `--now`, `--at`, imports, rows of a sync
    /// server.
    package static let supported = Instant(milliseconds: 0)...Instant(milliseconds: 4_417_977_600_000 - 1)

    /// Lies in the range that is taken from outside.
    package var isSupported: Bool { Self.supported.contains(self) }

    /// The instant itself, where it is one of those that are taken from outside.
    package func checked() throws(UnsupportedInstant) -> Instant {
        guard isSupported else { throw UnsupportedInstant(instant: self) }
        return self
    }
}

/// An instant outside `Instant.supported`.
package struct UnsupportedInstant: Problem, Hashable {
    /// The instant that was given.
    package var instant: Instant

    package init(instant: Instant) { self.instant = instant }

    /// Always `unsupportedTime`.
    package var code: String { "unsupportedTime" }
    /// Always `invalid`.
    package var category: ProblemCategory { .invalid }
    /// Which instants there can be.
    package var sentence: String {
        "\(instant) is outside the time that can be counted here: 1970-01-01T00:00:00Z to 2109-12-31T23:59:59Z."
    }
}

extension Instant {
    /// What a store may hold: the years 1 to 9999, so that every instant can be written as text and reckoned with.
    package static let storable =
        Instant(milliseconds: -62_135_596_800_000)...Instant(milliseconds: 253_402_300_799_999)
}
