import TrackerCore

/// Whether the host's clock can be right, from what else shows the time: the last receipt in the store, the bottle's clock,
/// and the records of its log. A Raspberry Pi has no clock of its own and starts with any date until the network tells it.
///
/// Two that agree outvote the third. Where nobody agrees nothing is acknowledged and no clock is set: that can be made
/// good at any later poll, a forgotten record and a clock set wrong cannot.
enum HostClock {
    enum Verdict: Hashable, Sendable {
        /// Nothing speaks against it.
        case believed
        /// It is believed; the bottle's clock is far off.
        case bottleIsWrong
        /// Somebody is wrong and it matters to nothing that is in the log: only no clock is set. The sentence says what.
        case undecided(String)
        /// Somebody is wrong, and records would be dated by it: nothing is acknowledged.
        case contradicted(String)

        /// What comes of this poll may count as evidence for later ones, and the bottle's clock may be set.
        var isBelieved: Bool { self == .believed || self == .bottleIsWrong }

        /// Why nothing is to be acknowledged.
        var objection: String? { if case .contradicted(let sentence) = self { sentence } else { nil } }
    }

    /// - Parameters:
    ///   - drift: bottle's clock minus the host's, seconds; `nil` where the bottle does not tell, or has lost it.
    ///   - newestReceipt: the last time of a believed clock that the store knows.
    ///   - log: when the log's records were made by their own account, in its order.
    static func judge(host: Instant, drift: Int?, newestReceipt: Instant?, log: [Instant]) -> Verdict {
        guard host >= floor else {
            return .contradicted("this computer's clock says \(host), which is before this program was written")
        }
        let drift = drift.flatMap { host.advanced(seconds: Double($0)) < floor ? nil : $0 }
        let isBehindStore = newestReceipt.map { host.seconds(to: $0) > tolerance } ?? false
        let ahead = log.filter { host.seconds(to: $0) > tolerance }.count
        let store = newestReceipt.map { "the store has received something at \($0)" } ?? ""
        guard let drift else {
            let isSupported = newestReceipt != nil && !isBehindStore
            guard ahead > 0, !isSupported, isBehindStore || ahead == log.count else { return .believed }
            return .contradicted(
                "this computer's clock says \(host), but \(isBehindStore ? "\(store), and " : "")the log has \(ahead == log.count ? "only " : "")records that lie ahead of it")
        }
        let bottle = host.advanced(seconds: Double(drift))
        guard abs(Double(drift)) > tolerance else {
            // Near enough to date records by it. But where the store remembers a later time than the host shows, and the
            // bottle too, the host has lost some hours, and must not pass that on.
            if let newestReceipt, host.seconds(to: newestReceipt) > small, bottle.seconds(to: newestReceipt) <= small, Double(drift) > small {
                return .undecided("this computer's clock says \(host), but \(store) and the bottle's clock says \(bottle)")
            }
            return .believed
        }
        let clocks = "this computer's clock and the bottle's are \(words(abs(drift))) apart (\(host) and \(bottle))"
        if let newestReceipt {
            if isBehindStore { return .contradicted("\(clocks), and \(store)") }
            if bottle.seconds(to: newestReceipt) > tolerance { return .bottleIsWrong }
        }
        if drift > 0 {
            guard let last = log.last, host.seconds(to: last) > tolerance else { return .undecided(clocks) }
            return .contradicted("\(clocks), and the log goes with the bottle's")
        }
        // The log is older than the bottle's clock in any case; a record that is not shows that the clock went back.
        if log.contains(where: { bottle.seconds(to: $0) > tolerance && host.seconds(to: $0) <= tolerance }) { return .bottleIsWrong }
        return log.isEmpty ? .undecided(clocks) : .contradicted("\(clocks), and the whole log goes with the bottle's")
    }

    /// What a person can do about it.
    static let advice =
        "Nothing was acknowledged and no clock was set. Look at the date of this computer (timedatectl); the next poll with a right clock goes on by itself. If it is right and the bottle is wrong: waterh-gateway poll --trust-clock"

    /// Records may lie this far ahead (tracker law A2): zones and their changes stay below.
    static let tolerance = RecordResolver.aheadSeconds
    /// What clocks drift in months, and a correction by the network.
    private static let small: Double = 300
    /// 2025-01-01T00:00:00Z. Nobody's clock that is right shows an earlier time.
    private static let floor = Instant(seconds: 1_735_689_600)

    private static func words(_ seconds: Int) -> String {
        seconds < 2 * 86_400 ? "\(seconds / 3600) hours" : "\(seconds / 86_400) days"
    }
}
