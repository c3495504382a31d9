import TrackerCore

/// Whether the host's clock may date records. A computer without a battery-backed clock starts with an arbitrary date
/// until the network provides the time.
enum ClockTrust: Hashable, Sendable {
    /// A time server synchronises the clock, or the user has confirmed the time.
    case synchronised
    /// The bottle's clock or the newest record of its log has about the same time.
    case plausible
    /// Any other clock, with the reason.
    case untrusted(String)

    var isTrusted: Bool { if case .untrusted = self { false } else { true } }

    /// - Parameters:
    ///   - isSynchronised: whether the operating system or the user confirms the clock.
    ///   - released: the release date of this program.
    ///   - drift: the bottle's clock minus the host's, in seconds; `nil` if the bottle has no time.
    ///   - newest: the time of the newest record by its own date; `nil` if no record has one.
    init(host: Instant, isSynchronised: Bool, released: Instant, drift: Int?, newest: Instant?) {
        guard !isSynchronised else {
            self = .synchronised
            return
        }
        let shown = "this computer's clock says \(host), and"
        let witness = drift == nil ? "the newest drink in the bottle is of" : "the bottle's says"
        let other = drift.map { host.advanced(seconds: Double($0)) } ?? newest
        if host < released {
            self = .untrusted("\(shown) this program was released later")
        } else if let other, abs(host.seconds(to: other)) > RecordResolver.aheadSeconds {
            self = .untrusted("\(shown) \(witness) \(other)")
        } else {
            self = other == nil ? .untrusted("\(shown) neither bottle nor log confirms it") : .plausible
        }
    }
}
