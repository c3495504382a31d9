import TrackerCore

/// Whether the host's clock can be right, from what else shows the time: the last receipt in the store, the bottle's
/// clock, and the records of its log. A Raspberry Pi has no clock of its own and starts with any date until the network
/// tells it.
///
/// A clock that a time server keeps right, by the kernel's own account, is believed. Otherwise two that agree outvote
/// the third. What only repeats an earlier reading of this very clock is no second voice: when the clock has been set
/// since, that reading says nothing any more, nor does a bottle that was set by it. Where nobody agrees nothing is
/// acknowledged and no clock is set: that can be made good at any later poll, a forgotten record and a clock set wrong
/// cannot.
///
/// What was received while nobody else showed the time is remembered, and is no voice against a bottle:
/// `BottleMemory.witness` is the last reading that somebody agreed with, or that goes on from such a one.
enum HostClock {
    enum Verdict: Hashable, Sendable {
        /// Nothing speaks against it.
        case believed
        /// It is believed; the bottle's clock is far off.
        case bottleIsWrong
        /// It is believed to the day, not to the hour: it dates records, and no clock is set. The sentence says why.
        case near(String)
        /// Somebody is wrong and it matters to nothing that is in the log: only no clock is set. The sentence says
        /// what.
        case undecided(String)
        /// Somebody is wrong, and records would be dated by it: nothing is acknowledged.
        case contradicted(String)

        /// What comes of this poll may count as evidence for later ones, and the bottle's clock may be set.
        var isBelieved: Bool { self == .believed || self == .bottleIsWrong }

        /// It may date what waits for a date.
        var tellsDays: Bool { if case .near = self { true } else { isBelieved } }

        /// Why nothing is to be acknowledged.
        var objection: String? { if case .contradicted(let sentence) = self { sentence } else { nil } }
    }

    /// - Parameters:
    ///   - drift: bottle's clock minus the host's, seconds; `nil` where the bottle does not tell, or has lost it.
    ///   - memory: the last time of a believed clock that the store knows, and when this bottle's clock was set.
    ///   - log: when the log's records were made by their own account, in its order.
    static func judge(host mark: ClockMark, drift: Int?, memory: BottleMemory, log: [LoggedTime], zone: Zone) -> Verdict
    {
        let host = mark.wall
        guard host >= floor else {
            return .contradicted("this computer's clock says \(host), which is before this program was written")
        }
        let isFarOff = drift.map { Double($0.magnitude) > tolerance } ?? false
        if mark.isSynchronized == true { return isFarOff ? .bottleIsWrong : .believed }
        let settings = heardSettings(memory, drift: drift, mark)
        let echoes = BottleEcho.found(in: settings, host: mark, drift: nil)
        let shift = drift.map { zoneShift($0, mark, memory) } ?? 0
        let own = ownDrift(drift, shift: shift, mark, memory)
        // What a clock told that somebody agreed with is evidence: not it was wrong, but this one is.
        let wrong = BottleEcho.found(in: settings.filter { !isVouched($0, memory) }, host: mark, drift: nil).filter(
            \.isWrong)
        let log = log.filter { record in !wrong.contains { $0.time.contains(record.instant) } }
        // Where nobody but this clock shows the time, a year that it tells is no evidence for it.
        let told = own == nil ? log.filter(\.hasYear) : log
        var verdict = judge(host: host, drift: own, Voices(memory, mark), log: told.map(\.instant))
        if log.contains(where: { record in !record.hasYear && !echoes.contains { $0.time.contains(record.instant) } }) {
            if own == nil, case .undecided(let sentence) = verdict { verdict = .contradicted(sentence) }
            if verdict.isBelieved, !tellsYear(mark, drift: drift, memory) {
                verdict = .contradicted(
                    """
                    this computer's clock has been set to \(host), nobody else shows that time, and the log's \
                    records have no year
                    """
                )
            }
        }
        if verdict == .believed, let own,
            let sentence = doubtOfHours(own, shift: shift, mark, memory, log: told.map(\.instant), zone)
        {
            return .near(sentence)
        }
        return verdict == .believed && drift != nil && (own == nil || isFarOff) ? .bottleIsWrong : verdict
    }

    private static func judge(host: Instant, drift: Int?, _ voices: Voices, log: [Instant]) -> Verdict {
        let newestReceipt = voices.newest
        let drift = drift.flatMap { host.advanced(seconds: Double($0)) < floor ? nil : $0 }
        let isBehindStore = newestReceipt.map { host.seconds(to: $0) > tolerance } ?? false
        let ahead = log.filter { host.seconds(to: $0) > tolerance }.count
        let store = newestReceipt.map { "the store has received something at \($0)" } ?? ""
        guard let drift else {
            if ahead > 0, isBehindStore || newestReceipt == nil && ahead == log.count {
                return .contradicted(
                    """
                    this computer's clock says \(host), but \(isBehindStore ? "\(store), and " : "")the log has \
                    \(ahead == log.count ? "only " : "")records that lie ahead of it
                    """
                )
            }
            // A fresh record goes with the host; without one nobody does.
            if isBehindStore, log.last.map({ $0.seconds(to: host) > tolerance }) ?? true {
                return .undecided("this computer's clock says \(host), but \(store)")
            }
            return .believed
        }
        let bottle = host.advanced(seconds: Double(drift))
        // Near enough to date records by it.
        guard abs(Double(drift)) > tolerance else { return .believed }
        let clocks = "this computer's clock and the bottle's are \(words(abs(drift))) apart (\(host) and \(bottle))"
        if isBehindStore { return .contradicted("\(clocks), and \(store)") }
        if let witnessed = voices.witnessed, bottle.seconds(to: witnessed) > tolerance { return .bottleIsWrong }
        if drift > 0 {
            guard let last = log.last, host.seconds(to: last) > tolerance else { return .undecided(clocks) }
            return .contradicted("\(clocks), and the log goes with the bottle's")
        }
        // The log is older than the bottle's clock in any case; a record that is not shows that the clock went back.
        if log.contains(where: { bottle.seconds(to: $0) > tolerance && host.seconds(to: $0) <= tolerance }) {
            return .bottleIsWrong
        }
        return log.isEmpty ? .undecided(clocks) : .contradicted("\(clocks), and the whole log goes with the bottle's")
    }

    /// Records may lie this far ahead (tracker law A2): zones and their changes stay below.
    static let tolerance = RecordResolver.aheadSeconds
    /// What clocks drift in months, and a correction by the network.
    static let small: Double = 300
    /// 2025-01-01T00:00:00Z. Nobody's clock that is right shows an earlier time.
    private static let floor = Instant(seconds: 1_735_689_600)

    private static func words(_ seconds: Int) -> String {
        seconds < 2 * 86_400 ? "\(seconds / 3600) hours" : "\(seconds / 86_400) days"
    }
}
