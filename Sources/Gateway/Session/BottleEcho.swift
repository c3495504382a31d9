import TrackerCore

/// A time in which a bottle's clock ran by what this computer's clock had told it, and by how much both were wrong.
///
/// A bottle that had lost its clock, or showed another day, was set by a computer whose own clock has been set since.
/// It is known then what the bottle's clock showed at each moment, so that what it wrote can be put on its true day.
struct BottleEcho: Hashable, Sendable {
    /// By the bottle's clock.
    var time: ClosedRange<Instant>
    /// Seconds that it was ahead of the clock that is believed now.
    var error: Double
    /// What the journal got after this row.
    var lastRecord: Int64
    /// The error was measured within one start of the computer, or a time server or a person vouches for the clock that
    /// it was found by, and no lone clock speaks here against one that somebody agreed with. Otherwise it is only what
    /// the bottle shows today, which says nothing of the days before: what was dated then stays.
    var isMeasured = true

    /// Enough to matter: less than this is a zone, or a clock that drifts.
    var isWrong: Bool { abs(error) > HostClock.tolerance }

    /// - Parameters:
    ///   - drift: bottle's clock minus the host's, seconds; `nil` where the bottle does not tell.
    ///   - isVouched: a time server or a person vouches for the host's clock.
    ///   - stands: such a clock was right, whatever this one says: what was dated by it stays, and what the bottle
    ///     wrote by it is right.
    /// - Returns: oldest first. A setting of which nothing can be known (the computer was started since) is left out.
    static func found(
        in settings: [ClockSetting], host: ClockMark, drift: Int?, isVouched: Bool = false,
        stands: (ClockSetting) -> Bool = { _ in false }
    ) -> [BottleEcho] {
        let settings = chain(settings, host)
        return settings.indices.compactMap { index in
            let (setting, next) = (settings[index], settings.indices.contains(index + 1) ? settings[index + 1] : nil)
            let mark = setting.mark
            let isRight = stands(setting)
            let end: Instant
            let error: Double
            var isMeasured = true
            let shift = Double(mark.zoneShift(to: host))
            if let ahead = mark.ahead(of: host), let passed = mark.passed(until: next?.mark ?? host), passed >= 0 {
                error = ahead
                end = mark.advanced(milliseconds: passed).wall.advanced(seconds: shift)
            } else if next == nil, let drift {
                isMeasured = isVouched
                error = Double(drift)
                end = host.wall.advanced(seconds: error)
            } else if isVouched, let next, let passed = mark.passed(until: next.mark), passed >= 0,
                wasRight(mark, settings[settings.count - 1].mark, drift)
            {
                error = 0
                end = mark.advanced(milliseconds: passed).wall
            } else {
                return nil
            }
            let (from, to) = (mark.wall.advanced(seconds: shift - slack), end.advanced(seconds: slack))
            return from <= to
                ? BottleEcho(
                    time: from...to, error: isRight ? 0 : error, lastRecord: setting.lastRecord,
                    isMeasured: isMeasured && !isRight) : nil
        }
    }

    /// Whether a clock of an earlier start of the computer was right, before it was set: the bottle still shows what it
    /// was told last, in that same start, and that is wrong by just as much as the clock had been set by. Any other sum
    /// says nothing: the last setting may never have reached it.
    private static func wasRight(_ mark: ClockMark, _ last: ClockMark, _ drift: Int?) -> Bool {
        guard let drift, Double(drift.magnitude) > HostClock.tolerance, let ahead = mark.ahead(of: last) else {
            return false
        }
        return abs(ahead + Double(drift)) <= slack
    }

    /// Each setting of another day, and those of its hours that came after: that the day was ours stays so. Where one
    /// of them cannot be measured, only days count.
    private static func chain(_ settings: [ClockSetting], _ host: ClockMark) -> [ClockSetting] {
        var isMeasured = false
        return settings.filter { setting in
            let step = setting.mark.step(to: host)
            if !setting.wasNear { isMeasured = step != nil }
            return !setting.wasNear || isMeasured && step != nil
        }
    }

    /// The bottle's clock counts without a zone, and drifts: half of what two settings are apart at least.
    private static let slack = HostClock.tolerance / 2
}
