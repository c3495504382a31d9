/// One reading of this computer's clock, with what tells later whether the clock has been set since.
///
/// The wall clock may be set to anything at any time. The count since the computer was started goes on evenly through
/// all of that: two marks of one start show by how much the wall clock was set between them.
package struct ClockMark: Hashable, Sendable {
    /// What it showed.
    package var wall: Instant
    /// Which start of the computer `uptime` counts from; `nil` where that is not known.
    package var boot: Int64?
    /// Milliseconds since then, sleep included.
    package var uptime: Int64
    /// Whether a time server kept the clock right, by the kernel's own account; `nil` where nobody says.
    package var isSynchronized: Bool?
    /// Seconds east of UTC that a bottle is told this reading with, -86,400 to 86,400; `nil` where nobody noted it.
    package var zoneOffset: Int?

    package init(
        wall: Instant, boot: Int64? = nil, uptime: Int64 = 0, isSynchronized: Bool? = nil, zoneOffset: Int? = nil
    ) {
        self.wall = wall
        self.boot = boot
        self.uptime = uptime
        self.isSynchronized = isSynchronized
        self.zoneOffset = zoneOffset
    }

    /// The same, where is known what the clock said that the computer's start was, ms UTC.
    package init(wall: Instant, boot: Int64?, start: Int64) {
        self.init(wall: wall, boot: boot, uptime: wall.milliseconds.saturatingSubtract(start))
    }

    /// Whether this reading, which a time server vouched for, still says something beside a later one that somebody
    /// else agreed with: no clock that is right is behind it, and a person, or a server that corrects itself, may know
    /// better.
    package func outlives(_ later: ClockMark) -> Bool {
        isSynchronized == true && later.isSynchronized != true && later.wall.seconds(to: wall) <= Self.day
    }

    /// Seconds: as far ahead as a record may lie (tracker spec A2, rule 4); zones and their changes stay below.
    private static let day: Double = 86_400

    /// What this clock says that the computer's start was, ms UTC.
    package var start: Int64 { wall.milliseconds.saturatingSubtract(uptime) }

    /// The same, as people see it in a zone.
    package func shown(in zone: Zone) -> ClockMark {
        var mark = self
        mark.zoneOffset = zone.offsetSeconds(at: wall)
        return mark
    }

    /// What this clock shows after so many milliseconds in which nobody sets it.
    package func advanced(milliseconds: Int64) -> ClockMark {
        var mark = self
        mark.wall.milliseconds = wall.milliseconds.saturatingAdd(milliseconds)
        mark.uptime = uptime.saturatingAdd(milliseconds)
        return mark
    }

    /// Milliseconds that passed until another mark, whatever the wall clocks say; `nil` where the computer was started
    /// in between.
    package func passed(until other: ClockMark) -> Int64? {
        guard let boot, boot == other.boot else { return nil }
        let passed = other.uptime.subtractingReportingOverflow(uptime)
        return passed.overflow ? nil : passed.partialValue
    }

    /// Seconds by which the wall clock was set forward (or back, below zero) until another mark; `nil` where nobody
    /// knows.
    package func step(to other: ClockMark) -> Double? {
        passed(until: other).map { advanced(milliseconds: $0).wall.seconds(to: other.wall) }
    }

    /// Seconds that a clock without a zone, told this reading, is ahead by a change of zone until another mark; 0 where
    /// nobody knows.
    package func zoneShift(to other: ClockMark) -> Int {
        guard let zoneOffset, let now = other.zoneOffset else { return 0 }
        return zoneOffset - now
    }

    /// Seconds that a bottle which was told this reading is ahead of another mark: it runs on, and knows no zone. `nil`
    /// where nobody knows.
    package func ahead(of other: ClockMark) -> Double? {
        step(to: other).map { Double(zoneShift(to: other)) - $0 }
    }
}
