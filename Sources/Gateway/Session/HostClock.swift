import TrackerCore

/// Whether the host's clock can be right, from what else shows the time: the last receipt in the store, the bottle's clock,
/// and the records of its log. A Raspberry Pi has no clock of its own and starts with any date until the network tells it.
///
/// A clock that a time server keeps right, by the kernel's own account, is believed. Otherwise two that agree outvote the
/// third. What only repeats an earlier reading of this very clock is no second voice: when the clock has been set since, that
/// reading says nothing any more, nor does a bottle that was set by it. Where nobody agrees nothing is acknowledged and no
/// clock is set: that can be made good at any later poll, a forgotten record and a clock set wrong cannot.
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
    ///   - memory: the last time of a believed clock that the store knows, and when this bottle's clock was set.
    ///   - log: when the log's records were made by their own account, in its order.
    static func judge(host mark: ClockMark, drift: Int?, memory: BottleMemory, log: [Instant]) -> Verdict {
        let host = mark.wall
        guard host >= floor else {
            return .contradicted("this computer's clock says \(host), which is before this program was written")
        }
        let isFarOff = drift.map { Double($0.magnitude) > tolerance } ?? false
        if mark.isSynchronized == true { return isFarOff ? .bottleIsWrong : .believed }
        let echoes = BottleEcho.found(in: memory.clockSettings, host: mark, drift: nil).filter(\.isWrong)
        let newest = memory.receiptClock.map { isOvertaken($0, by: mark) } == true ? nil : memory.newestReceipt
        let log = log.filter { record in !echoes.contains { $0.time.contains(record) } }
        if isFarOff, let drift, isEcho(drift, memory.clockSettings.last, mark) {
            let verdict = judge(host: host, drift: nil, newestReceipt: newest, log: log)
            return verdict == .believed ? .bottleIsWrong : verdict
        }
        return judge(host: host, drift: drift, newestReceipt: newest, log: log)
    }

    /// The clock has been set since, by so much that only one of the two can be right. What a time server vouched for stays.
    private static func isOvertaken(_ mark: ClockMark, by host: ClockMark) -> Bool {
        mark.isSynchronized != true && mark.step(to: host).map { abs($0) > tolerance } == true
    }

    /// The bottle still shows what this computer told it, before this computer's clock was set.
    private static func isEcho(_ drift: Int, _ setting: ClockSetting?, _ host: ClockMark) -> Bool {
        guard let mark = setting?.mark, isOvertaken(mark, by: host), let step = mark.step(to: host) else { return false }
        return abs(Double(drift) + step) <= tolerance / 2
    }

    private static func judge(host: Instant, drift: Int?, newestReceipt: Instant?, log: [Instant]) -> Verdict {
        let drift = drift.flatMap { host.advanced(seconds: Double($0)) < floor ? nil : $0 }
        let isBehindStore = newestReceipt.map { host.seconds(to: $0) > tolerance } ?? false
        let ahead = log.filter { host.seconds(to: $0) > tolerance }.count
        let store = newestReceipt.map { "the store has received something at \($0)" } ?? ""
        guard let drift else {
            if ahead > 0, isBehindStore || newestReceipt == nil && ahead == log.count {
                return .contradicted(
                    "this computer's clock says \(host), but \(isBehindStore ? "\(store), and " : "")the log has \(ahead == log.count ? "only " : "")records that lie ahead of it")
            }
            // A fresh record goes with the host; without one nobody does.
            if isBehindStore, log.last.map({ $0.seconds(to: host) > tolerance }) ?? true {
                return .undecided("this computer's clock says \(host), but \(store)")
            }
            return .believed
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
