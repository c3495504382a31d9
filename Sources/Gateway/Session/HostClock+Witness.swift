import TrackerCore

// Who agrees with this computer's clock, and what is left to say for it where nobody does.
extension HostClock {
    /// What the store remembers of the time.
    struct Voices {
        /// The last time at which anything was received: no clock that is right is behind it.
        var newest: Instant?
        /// The last time that somebody else agreed with: no bottle's clock that is right is behind it.
        var witnessed: Instant?

        init(_ memory: BottleMemory, _ host: ClockMark) {
            guard let receipt = memory.receiptClock else {
                (newest, witnessed) = (memory.newestReceipt, memory.newestReceipt)
                return
            }
            let marks = [memory.served, memory.witness, receipt].compactMap(\.self).filter {
                !isOvertaken($0, by: host)
            }
            newest = marks.map(\.wall).max()
            witnessed = [memory.served, memory.witness].compactMap(\.self).filter { !isOvertaken($0, by: host) }.map(
                \.wall
            ).max()
        }
    }

    /// Whether a record without a year may have it from this clock: it was not set since somebody agreed with it, or
    /// somebody agrees now.
    static func tellsYear(_ mark: ClockMark, drift: Int?, _ memory: BottleMemory) -> Bool {
        let step = (memory.witness ?? memory.receiptClock)?.step(to: mark)
        return step.map { abs($0) <= tolerance } ?? true || isWitnessed(mark, drift: drift, memory)
    }

    /// Whether somebody agrees with this clock: a time server, a bottle with a clock of its own, or an earlier reading
    /// of it that somebody agreed with.
    static func isWitnessed(_ mark: ClockMark, drift: Int?, _ memory: BottleMemory) -> Bool {
        if mark.isSynchronized == true { return true }
        if goesOn(mark, memory) { return true }
        guard let drift = drift.map({ $0 - zoneShift($0, mark, memory) }), Double(drift.magnitude) <= tolerance else {
            return false
        }
        // It has its day from this clock, and agrees with it. That the last setting reached it nobody knows.
        return !memory.clockSettings.contains { setting in
            !setting.wasNear && setting.mark.step(to: mark).map { abs($0) <= tolerance } == true
        }
    }

    /// By how much the bottle's clock is ahead, where it is no echo of this one.
    /// - Parameter shift: of the drift that the bottle shows, so much is no clock's fault (`zoneShift`).
    static func ownDrift(_ drift: Int?, shift: Int, _ host: ClockMark, _ memory: BottleMemory) -> Int? {
        guard let drift else { return nil }
        let own = drift - shift
        return Double(own.magnitude) > tolerance && isEcho(drift, memory, host) ? nil : own
    }

    /// Near enough to date records by it, and yet the bottle is not set by it: this computer may have lost or gained
    /// some hours, and must not pass that on. What bottles' clocks drift stays below.
    /// - Parameter shift: of the drift that the bottle shows, so much is left out here (`zoneShift`).
    static func doubtOfHours(
        _ drift: Int, shift: Int, _ host: ClockMark, _ memory: BottleMemory, log: [Instant], _ zone: Zone
    ) -> String? {
        guard Double(drift.magnitude) > small else { return nil }
        if goesOn(host, memory) { return nil }
        // It shows what this clock told it before it was set.
        if let step = memory.clockSettings.last?.mark.step(to: host), abs(step) > small,
            abs(Double(drift) + step) <= small
        {
            return nil
        }
        let bottle = host.wall.advanced(seconds: Double(drift))
        let clocks = "this computer's clock says \(host.wall), but the bottle's clock says \(bottle)"
        if let step = (memory.witness ?? memory.receiptClock)?.step(to: host), abs(Double(drift) + step) <= small {
            return "\(clocks), as this computer's did before it was set"
        }
        // It was right, and has gone on by itself: that this computer's did so too nobody knows, who was started since.
        if let kept = memory.agreement, !isKept(drift + shift, since: kept, host: host.wall, zone: zone) {
            return "\(clocks), and that was right at \(kept.at)"
        }
        guard drift > 0 else { return nil }
        if let newest = Voices(memory, host).newest, host.wall.seconds(to: newest) > small,
            bottle.seconds(to: newest) <= small
        {
            return "\(clocks), and the store has received something at \(newest)"
        }
        return log.contains { host.wall.seconds(to: $0) > small }
            ? "\(clocks), and the log has records that lie ahead of this computer's" : nil
    }

    /// Whether the bottle shows what it would show by now, in this zone, had nobody touched its clock since it was
    /// right.
    static func isKept(_ drift: Int, since kept: ClockAgreement, host: Instant, zone: Zone) -> Bool {
        let moved = Double(kept.zoneOffset - zone.offsetSeconds(at: host))
        let days = max(0, kept.at.seconds(to: host)) / 86_400
        return abs(Double(drift) - moved) <= small + days * driftPerDay
    }

    /// Seconds: a poor quartz in the cold.
    private static let driftPerDay: Double = 10

    /// The clock has been set since, by so much that only one of the two can be right. What a time server vouched for
    /// stays.
    private static func isOvertaken(_ mark: ClockMark, by host: ClockMark) -> Bool {
        mark.isSynchronized != true && mark.step(to: host).map { abs($0) > tolerance } == true
    }

    /// Somebody agreed with this reading of the clock, or with one that it goes on from.
    static func isVouched(_ mark: ClockMark, _ memory: BottleMemory) -> Bool {
        mark.isSynchronized == true || goesOn(mark, memory)
    }

    /// It goes on from a reading that somebody agreed with.
    private static func goesOn(_ mark: ClockMark, _ memory: BottleMemory) -> Bool {
        [memory.served, memory.witness].contains { $0?.step(to: mark).map { abs($0) <= small } == true }
    }

    /// The bottle was told the right day: somebody agreed with that clock, or the bottle showed the day of such a clock
    /// afterwards, which then put the hours right. Whether that arrived makes no difference to the day.
    static func isVouched(_ setting: ClockSetting, _ memory: BottleMemory) -> Bool {
        if isVouched(setting.mark, memory) { return true }
        let later = memory.clockSettings.drop { $0 != setting }.dropFirst().prefix { $0.wasNear }
        return later.contains { isVouched($0.mark, memory) }
    }

    /// The bottle still shows what this computer told it, before this computer's clock was set. That may be any time
    /// that it was told: what was noted last may never have reached it.
    private static func isEcho(_ drift: Int, _ memory: BottleMemory, _ host: ClockMark) -> Bool {
        memory.clockSettings.contains { setting in
            guard !setting.wasNear, isOvertaken(setting.mark, by: host), shows(setting.mark, drift, host) == true else {
                return false
            }
            // What somebody else agreed with before it was passed on counts for more than a clock that stands alone.
            return !isVouched(setting, memory)
        }
    }

    /// What the bottle was told, as far as it heard it: where it goes on by an earlier clock than the last, that one
    /// stands once more in the place of those that never reached it, so that what was written since is dated by it, and
    /// nothing that came before.
    static func heardSettings(_ memory: BottleMemory, drift: Int?, _ host: ClockMark) -> [ClockSetting] {
        var settings = memory.clockSettings
        guard let drift, Double(drift.magnitude) > tolerance else { return settings }
        // What put its hours right is more than a day off by now: a clock that was set back since, and a journey.
        if let index = settings.lastIndex(where: { showsExactly($0.mark, drift, host) }) {
            settings[index].wasNear = false
        }
        // One of another start of the computer may be what it shows, and nobody can tell.
        guard let last = settings.lastIndex(where: { shows($0.mark, drift, host) ?? true }),
            settings.indices.contains(last + 1)
        else { return settings }
        let (shown, missed) = (settings[last].mark, settings[last + 1])
        let again = shown.advanced(milliseconds: shown.passed(until: missed.mark) ?? 0)
        return settings[...last] + [
            ClockSetting(mark: again, lastRecord: missed.lastRecord, wasNear: settings[last].wasNear)
        ]
    }

    /// Whether a bottle that is ahead by `drift` goes on by that reading of this computer's clock; `nil` where the
    /// computer was started since.
    private static func shows(_ mark: ClockMark, _ drift: Int, _ host: ClockMark) -> Bool? {
        mark.ahead(of: host).map { abs(Double(drift) - $0) <= tolerance / 2 }
    }

    private static func showsExactly(_ mark: ClockMark, _ drift: Int, _ host: ClockMark) -> Bool {
        mark.zoneOffset != nil && mark.ahead(of: host).map { abs(Double(drift) - $0) <= small } == true
    }

    /// Seconds of the drift that are no clock's fault: the bottle shows to the minute what it was told, and the zone is
    /// another one since.
    static func zoneShift(_ drift: Int, _ host: ClockMark, _ memory: BottleMemory) -> Int {
        memory.clockSettings.last { showsExactly($0.mark, drift, host) }?.mark.zoneShift(to: host) ?? 0
    }
}
