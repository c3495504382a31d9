package import BottleProtocol
package import TrackerCore

// Writes settings that differ from the snapshot. Equal values are not written, because each write makes the light
// blink.
extension Poll {
    /// The command that sets the bottle's clock; `nil` if the clock is right or the host's clock is not synchronised.
    var clockCommand: HostCommand? {
        guard clockTrust == .synchronised, isClockOff else { return nil }
        return BottleClock(options.zone.wall(at: wall)).map { .clock($0) }
    }

    /// The command that sets the goal; `nil` if the bottle has this goal or has rejected it.
    var goalCommand: HostCommand? {
        guard let goal = options.goalMl, let shown = report.snapshot?.goalMl, shown != Int(goal),
            report.history.ignoredGoalMl != Int(goal)
        else { return nil }
        return .goal(ml: goal)
    }

    private var isClockOff: Bool {
        guard let limit = options.correctClockBeyond, report.snapshot?.clock != nil else { return false }
        guard let drift = report.clockDriftSeconds else { return true }
        return Int64(drift.magnitude) > limit.components.seconds
    }

    /// Warns that the clock will be set. After a power loss the clock has no date, and so no drift.
    mutating func warnOfDrift() {
        guard let drift = report.clockDriftSeconds else { return }
        addDiagnostic(.warning, "The bottle's clock is \(PollReport.driftText(drift)) and will be set.")
    }

    /// The command that shows today's amount on the bottle's screen. Before the first complete reading of the log, it
    /// must not lower the amount, because another app can have read drinks today.
    func amountCommand(_ total: Int) -> HostCommand? {
        guard let ml = UInt16(exactly: total) else { return nil }
        let shown = report.snapshot?.amountMl
        if total > shown ?? 0 { return .amount(ml: ml) }
        return report.complete && storedBottle.lastCompletePoll != nil && shown != total ? .amount(ml: ml) : nil
    }

    /// Records a rejected goal, so that later polls do not write it again.
    mutating func recordGoal(_ command: HostCommand, response: Frame?) {
        guard case .goal(let goal) = command else { return }
        let stored = (try? response?.entries())?.first { $0.type == .goal }?.number
        guard stored != goal else {
            report.snapshot?.goalMl = Int(goal)
            return
        }
        report.history.ignoredGoalMl = Int(goal)
        addDiagnostic(
            .warning,
            """
            The bottle was sent a goal of \(goal) ml and \
            \(stored.map { "stored \($0) ml" } ?? "did not confirm it").
            """)
    }

    /// Copies values of a message to the report.
    mutating func recordValues(of message: BottleMessage) {
        switch message {
        case .snapshot(let snapshot):
            report.snapshot = snapshot
            report.model = snapshot.model ?? report.model
            if let percent = snapshot.batteryPercent, percent <= 100 { report.batteryPercent = percent }
            if let clock = snapshot.clock { recordClock(clock) }
        case .report(let entries):
            for entry in entries where entry.type == .battery {
                if let percent = entry.byte, percent <= 100 { report.batteryPercent = Int(percent) }
            }
        case .clockStatus(let status) where status != 0:
            addDiagnostic(.warning, "The bottle rejected the clock setting (status \(status)).")
        default: break
        }
    }

    private mutating func recordClock(_ clock: BottleClock) {
        report.clockDriftSeconds = clock.drift(from: options.zone.wall(at: wall))
        if report.clockDriftSeconds == nil {
            addDiagnostic(.warning, "The bottle's clock is not set: it shows \(clock).")
        }
    }
}

extension BottleClock {
    /// Returns `nil` for a year outside 2000–2255, the range of the clock's year byte.
    package init?(_ wall: WallTime) {
        guard let year = UInt8(exactly: wall.year - 2000), let month = UInt8(exactly: wall.month),
            let day = UInt8(exactly: wall.day), let hour = UInt8(exactly: wall.hour),
            let minute = UInt8(exactly: wall.minute), let second = UInt8(exactly: wall.second)
        else { return nil }
        self.init(yearByte: year, month: month, day: day, hour: hour, minute: minute, second: second)
    }

    /// The seconds by which this clock is ahead of a wall clock; `nil` if its fields are not a date. A change of the
    /// UTC offset has no effect, because local times are compared.
    func drift(from wall: WallTime) -> Int? {
        guard isPossible else { return nil }
        let shown = WallTime(
            year: year, month: Int(month), day: Int(day), hour: Int(hour), minute: Int(minute), second: Int(second))
        guard case .once(let bottle) = Zone.utc.moments(of: shown), case .once(let host) = Zone.utc.moments(of: wall)
        else { return nil }
        return Int((bottle.milliseconds - host.milliseconds) / 1000)
    }
}
