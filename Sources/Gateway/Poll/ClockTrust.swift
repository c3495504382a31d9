import TrackerCore

/// Whether the host's clock may date records. A computer without a battery-backed clock starts with any date until the
/// network tells it the time.
enum ClockTrust: Hashable, Sendable {
    /// The operating system keeps it right by a time server, or the user vouches for it.
    case synchronised
    /// The bottle, or the newest record of its log, shows about the same time.
    case plausible
    /// Nothing else shows the time: it dates records, and proves nothing to later polls.
    case alone
    /// It contradicts the bottle. The sentence says how.
    case doubtful(String)

    /// It dates records and lets the poll acknowledge.
    var isTrusted: Bool { if case .doubtful = self { false } else { true } }
    /// What the poll notes may be evidence for later polls.
    var isEvidence: Bool { self == .synchronised || self == .plausible }

    /// - Parameters:
    ///   - isSynchronised: the operating system says so, or the user.
    ///   - drift: the bottle's clock minus the host's, in seconds; `nil` where the bottle shows none.
    ///   - newest: the time of the newest record by its own account.
    init(host: Instant, isSynchronised: Bool, drift: Int?, newest: Instant?) {
        guard !isSynchronised else {
            self = .synchronised
            return
        }
        guard host >= Self.earliest else {
            self = .doubtful("this computer's clock says \(host), which is before this program was released")
            return
        }
        guard let other = drift.map({ host.advanced(seconds: Double($0)) }) ?? newest else {
            self = .alone
            return
        }
        let isNear = abs(host.seconds(to: other)) <= Self.tolerance
        let witness = drift == nil ? "the newest drink in the bottle is of" : "the bottle's says"
        self = isNear ? .plausible : .doubtful("this computer's clock says \(host), and \(witness) \(other)")
    }

    /// Seconds that two right clocks can be apart: any two zones.
    static let tolerance: Double = 26 * 3600
    /// 2025-01-01T00:00:00Z: this program is younger.
    static let earliest = Instant(seconds: 1_735_689_600)
}
