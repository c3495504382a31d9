/// A point in time: whole milliseconds since 1970-01-01T00:00:00Z (tracker spec Section 9.1).
///
/// Arithmetic saturates, because an instant can come from a file or a server. Accepted input is in `supported`.
package struct Instant: Hashable, Comparable, Sendable, Codable {
    /// Milliseconds since 1970-01-01T00:00:00Z; negative before that time.
    package var milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Saturates at the range of milliseconds.
    package init(seconds: Int64) {
        milliseconds = seconds.saturatingMultiply(1000)
    }

    package static func < (left: Instant, right: Instant) -> Bool { left.milliseconds < right.milliseconds }

    package func seconds(to other: Instant) -> Double {
        let (difference, overflow) = other.milliseconds.subtractingReportingOverflow(milliseconds)
        return (overflow ? Double(other.milliseconds) - Double(milliseconds) : Double(difference)) / 1000
    }

    /// The instant that many seconds later. NaN changes nothing.
    package func advanced(seconds: Double) -> Instant {
        Instant(milliseconds: milliseconds.saturatingAdd(Int64(saturating: (seconds * 1000).rounded())))
    }
}

extension Instant {
    /// The range of input: 1970-01-01T00:00:00Z to 2109-12-31T23:59:59.999Z, for which time zone rules are known. All
    /// inputs reject other instants: `--now`, `--at`, imports, rows of a sync server.
    package static let supported = Instant(milliseconds: 0)...Instant(milliseconds: 4_417_977_600_000 - 1)

    package var isSupported: Bool { Self.supported.contains(self) }

    package func checked() throws(UnsupportedInstant) -> Instant {
        guard isSupported else { throw UnsupportedInstant(instant: self) }
        return self
    }
}

package struct UnsupportedInstant: Problem, Hashable {
    package var instant: Instant

    package init(instant: Instant) { self.instant = instant }

    package var code: String { "unsupportedTime" }
    package var category: ProblemCategory { .invalid }
    package var sentence: String {
        "invalid time \(instant): expected 1970-01-01T00:00:00Z to 2109-12-31T23:59:59Z."
    }
}

extension Instant {
    /// The range of stored instants: the years 1 to 9999.
    package static let storable =
        Instant(milliseconds: -62_135_596_800_000)...Instant(milliseconds: 253_402_300_799_999)
}
