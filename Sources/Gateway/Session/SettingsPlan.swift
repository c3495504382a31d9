import BottleProtocol
import TrackerCore

/// Which settings to write, from what the bottle said of itself. Writing makes its light blink, so nothing is written
/// that is right already (protocol law P3.6).
enum SettingsPlan {
    /// Goal, clock and reminder in one where the owner wants them managed and they differ; the clock alone where it is
    /// off.
    static func command(_ work: PollWork) -> HostCommand? {
        guard let snapshot = work.report.snapshot, let clock = BottleClock(work.options.zone.wall(at: work.wall)) else {
            return nil
        }
        let isOff = isClockOff(work)
        if let wanted = work.options.settings, let reminder = wanted.reminder ?? snapshot.reminder {
            let isGoalOff = goal(work) != nil
            // What is right is not written, and what is not known is not made up: the goal alone has a command of its
            // own.
            if snapshot.reminder != reminder || isGoalOff && isOff {
                return .settings(goalMl: wanted.goalMl, clock: clock, reminder: reminder)
            }
        }
        return isOff ? .clock(clock) : nil
    }

    /// The goal alone, where the bottle shows another and has not refused this one.
    static func goal(_ work: PollWork) -> HostCommand? {
        guard let wanted = work.options.settings?.goalMl, let shown = work.report.snapshot?.goalMl,
            shown != Int(wanted),
            work.report.history.unheededGoalMl != Int(wanted)
        else { return nil }
        return .goal(ml: wanted)
    }

    /// What a bottle makes of its goal: one that keeps its own is not asked for the same again, which would make it
    /// blink at every poll.
    static func noteGoal(_ command: HostCommand, answer: Frame?, _ work: inout PollWork) {
        let wanted: UInt16
        switch command {
        case .goal(let ml), .settings(let ml, _, _): wanted = ml
        default: return
        }
        let taken = (try? answer?.entries())?.first { $0.type == .goal }?.number
        if taken == wanted {
            work.report.snapshot?.goalMl = Int(wanted)
        } else {
            work.report.history.unheededGoalMl = Int(wanted)
            work.say(
                .warning,
                """
                The bottle was told a goal of \(wanted) ml and \
                \(taken.map { "took \($0) ml" } ?? "did not say that it took it").
                """
            )
        }
    }

    /// The bottle's clock shows another day than ours: one of them is wrong, and by much.
    static func isFarOff(_ work: PollWork) -> Bool {
        work.report.clockDriftSeconds.map { Double($0.magnitude) > HostClock.tolerance } ?? false
    }

    /// The bottle's clock is off by more than clocks drift, or was lost: set, it has its time from us. Whether it may
    /// be set the log has to say first.
    static func isOfAnotherTime(_ work: PollWork) -> Bool {
        guard let drift = work.report.clockDriftSeconds else { return work.report.snapshot?.clock != nil }
        return Double(drift.magnitude) > HostClock.small
    }

    /// The bottle's clock was lost, or is further off than is left alone.
    private static func isClockOff(_ work: PollWork) -> Bool {
        guard let limit = work.options.correctClockBeyond, work.report.snapshot?.clock != nil else { return false }
        guard let drift = work.report.clockDriftSeconds else { return true }
        return Int64(drift.magnitude) > limit.components.seconds
    }

    /// The amount to show on the bottle's screen. Before the log is read the store may lack what the bottle has
    /// counted, so the figure is only raised; afterwards it is set. A store that meets this bottle for the first time
    /// does not know what another app has taken from it today, and never lowers the figure.
    static func amount(total: Int?, after: Bool, isKnownBottle: Bool, _ report: PollReport) -> HostCommand? {
        guard let total, let ml = UInt16(exactly: total) else { return nil }
        let shown = report.snapshot?.amountMl
        if total > shown ?? 0 { return .amount(ml: ml) }
        return after && report.complete && isKnownBottle && shown != total ? .amount(ml: ml) : nil
    }

    /// Takes from a message what the report shows.
    static func note(_ message: BottleMessage, _ work: inout PollWork) {
        switch message {
        case .snapshot(let snapshot):
            work.report.snapshot = snapshot
            work.snapshotAt = (work.now, work.wall)
            work.report.model = snapshot.model ?? work.report.model
            if let percent = snapshot.batteryPercent, percent <= 100 { work.report.batteryPercent = percent }
            noteClock(snapshot.clock, &work)
        case .report(let entries):
            for entry in entries where entry.type == .battery {
                if let percent = entry.byte, percent <= 100 { work.report.batteryPercent = Int(percent) }
            }
        case .clockStatus(let status) where status != 0:
            work.say(.warning, "The bottle did not take the clock (status \(status)).")
        default:
            break
        }
    }

    private static func noteClock(_ clock: BottleClock?, _ work: inout PollWork) {
        guard let clock else { return }
        guard let drift = drift(of: clock, wall: work.options.zone.wall(at: work.wall)) else {
            work.report.clockDriftSeconds = nil
            work.say(.warning, "The bottle's clock is lost: it says \(clock).")
            return
        }
        work.report.clockDriftSeconds = drift
    }

    /// Says what is about to be mended.
    static func announce(_ command: HostCommand, _ work: inout PollWork) {
        guard command.setsClock, isClockOff(work), let drift = work.report.clockDriftSeconds else { return }
        work.say(.warning, "The bottle's clock is \(drift.magnitude) s \(drift < 0 ? "slow" : "fast") and is set.")
    }

    /// Bottle's clock minus ours, both as they stand on the wall: a bottle set right shows what we show, whatever
    /// the zone does in that hour. `nil` where the bottle's fields are no date.
    static func drift(of clock: BottleClock, wall: WallTime) -> Int? {
        guard clock.isPossible else { return nil }
        let bottle = WallTime(
            year: clock.year, month: Int(clock.month), day: Int(clock.day), hour: Int(clock.hour),
            minute: Int(clock.minute),
            second: Int(clock.second))
        guard case .once(let theirs) = Zone.utc.moments(of: bottle), case .once(let ours) = Zone.utc.moments(of: wall)
        else { return nil }
        return Int((theirs.milliseconds - ours.milliseconds) / 1000)
    }
}

extension HostCommand {
    var setsClock: Bool {
        switch self {
        case .clock, .settings: true
        default: false
        }
    }
}

extension BottleClock {
    /// `nil` for years that the clock's byte cannot hold.
    package init?(_ wall: WallTime) {
        guard let year = UInt8(exactly: wall.year - 2000), let month = UInt8(exactly: wall.month),
            let day = UInt8(exactly: wall.day),
            let hour = UInt8(exactly: wall.hour), let minute = UInt8(exactly: wall.minute),
            let second = UInt8(exactly: wall.second)
        else { return nil }
        self.init(yearByte: year, month: month, day: day, hour: hour, minute: minute, second: second)
    }
}
