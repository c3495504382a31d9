/// When a packet was captured: time since 1970-01-01T00:00:00Z, as exact as the file says it.
///
/// Held as a `Duration` (attoseconds in 128 bits), so that neither the microseconds since the year 0 of btsnoop nor the
/// picoseconds of a pcapng interface lose a digit, and no timestamp of a hostile file overflows.
package struct CaptureTime: Hashable, Sendable, Comparable {
    /// Time since 1970; negative before.
    package var sinceEpoch: Duration

    /// That long after 1970-01-01T00:00:00Z; before it where negative.
    package init(sinceEpoch: Duration) { self.sinceEpoch = sinceEpoch }

    /// - Parameters: `nanoseconds` is added to `seconds`; it may be any number, also negative.
    package init(seconds: Int64, nanoseconds: Int64 = 0) {
        sinceEpoch = .seconds(seconds) + .nanoseconds(nanoseconds)
    }

    /// Whole seconds since 1970, rounded down.
    package var seconds: Int64 {
        let (seconds, attoseconds) = sinceEpoch.components
        return attoseconds < 0 && seconds > .min ? seconds - 1 : seconds
    }

    /// Nanoseconds after `seconds`, 0..<1 000 000 000; finer digits are cut.
    package var nanosecond: Int64 {
        let attoseconds = sinceEpoch.components.attoseconds
        return (attoseconds < 0 ? attoseconds + 1_000_000_000_000_000_000 : attoseconds) / 1_000_000_000
    }

    package static func < (left: CaptureTime, right: CaptureTime) -> Bool { left.sinceEpoch < right.sinceEpoch }
}

extension CaptureTime: CustomStringConvertible {
    /// Seconds since 1970 with nine digits after the point, as tshark's `frame.time_epoch`: `1612150079.092423000`.
    package var description: String {
        let (whole, attoseconds) = sinceEpoch.components
        let fraction = String((attoseconds < 0 ? -attoseconds : attoseconds) / 1_000_000_000)
        let sign = sinceEpoch < .zero && whole == 0 ? "-" : ""
        return sign + String(whole) + "." + String(repeating: "0", count: 9 - fraction.utf8.count) + fraction
    }
}
