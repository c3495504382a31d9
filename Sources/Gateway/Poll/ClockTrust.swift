import TrackerCore

/// Whether the host's clock may date records. A computer without a battery-backed clock starts with an arbitrary date
/// until the network provides the time.
enum ClockTrust: Hashable, Sendable {
    /// A time server synchronises the clock, or the user has confirmed the time.
    case synchronised
    /// The bottle's clock or the newest record of its log has about the same time.
    case plausible
    /// The clock must not date records. The text is the reason.
    case untrusted(String)

    var isTrusted: Bool { if case .untrusted = self { false } else { true } }

    /// - Parameters:
    ///   - zone: the time zone of times in the reason.
    ///   - isSynchronised: whether the operating system or the user confirms the clock.
    ///   - released: the release date of this program.
    ///   - drift: the bottle's clock minus the host's, in seconds; `nil` if the bottle has no time.
    ///   - newest: the time of the newest record by its own date; `nil` if no record has one.
    init(host: Instant, zone: Zone, isSynchronised: Bool, released: Instant, drift: Int?, newest: Instant?) {
        func text(_ instant: Instant) -> String { zone.wall(at: instant).description.replacing("T", with: " ") }
        let hostText = "this computer's clock says \(text(host))"
        let subject = drift == nil ? "the newest drink in the bottle is of" : "the bottle's clock says"
        let otherTime = drift.map { host.advanced(seconds: Double($0)) } ?? newest
        if isSynchronised {
            self = .synchronised
        } else if host < released {
            self = .untrusted("\(hostText), but this program was released later")
        } else if let otherTime, abs(host.seconds(to: otherTime)) > RecordResolver.maxLeadSeconds {
            self = .untrusted("\(hostText), but \(subject) \(text(otherTime))")
        } else {
            self =
                otherTime == nil
                ? .untrusted("\(hostText), and neither the bottle's clock nor its log confirms it") : .plausible
        }
    }
}
