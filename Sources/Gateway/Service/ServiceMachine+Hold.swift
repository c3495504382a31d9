package import Bluetooth
package import TrackerCore

/// A request to keep a bottle's connection after a poll.
package struct HoldRequest: Hashable, Sendable {
    /// The time until which the connection is kept. A later request can extend it.
    package var until: MonotonicInstant
    /// Whether a client watches, so that drinks must appear at once.
    package var isWatched: Bool
}

extension HoldRequest {
    /// The request that the setting `bottle.hold` causes at a time; `nil` if the connection is not kept.
    /// - Parameters:
    ///   - viewers: the time until which clients watch; `nil` without clients.
    ///   - interval: the poll interval. A resting bottle is kept connected only while a client watches.
    package init?(_ hold: BottleHold, viewers: MonotonicInstant?, interval: PollSchedule?, now: MonotonicInstant) {
        if hold != .never, let viewers, viewers > now {
            self.init(until: viewers, isWatched: true)
        } else if hold == .always, case .every = interval {
            self.init(until: now.advanced(by: HoldTimes.maximum), isWatched: false)
        } else {
            return nil
        }
    }
}

/// The durations and read intervals of a kept connection.
package enum HoldTimes {
    /// The time from a client's last request to the disconnect.
    package static let afterCheck = Duration.seconds(60)
    /// The time after which the gateway disconnects, because a phone app also needs the bottle's single connection.
    package static let maximum = Duration.seconds(300)
    /// The time for which the gateway stays disconnected after `maximum`.
    package static let phonePause = Duration.seconds(30)
    /// The time between two readings after reports. It doubles after each report without a drink, up to `unreported`.
    static let gap = Duration.milliseconds(500)
    /// The read interval while a client watches a bottle that does not report its drinks.
    static let unreported = Duration.seconds(5)
    /// The read interval for a bottle that reports its drinks, and for any bottle without clients.
    static let reported = Duration.seconds(60)
    /// The time for which each of several bottles on one adapter is kept connected.
    static let share = Duration.seconds(30)
    /// The pause before the next scan for a lost bottle: `first`, doubled each time, up to `last`.
    static let pauses = (first: Duration.seconds(5), last: Duration.seconds(60))

    static func gap(_ emptyPolls: Int) -> Duration { min(gap * (1 << min(emptyPolls, 4)), unreported) }

    static func pause(_ failures: Int) -> Duration { min(pauses.first * (1 << min(failures, 4)), pauses.last) }
}

// The kept connection: its deadline, its read interval, and the time of the next attempt.
extension ServiceMachine {
    /// The state of a bottle's kept connection over several polls.
    struct Hold {
        var holdRequest: HoldRequest?
        /// The number of consecutive failed polls and short connections.
        var failures = 0
        var lostAt: MonotonicInstant?
        var freeUntil: MonotonicInstant?
        var reportsDrinks = false
        /// The number of consecutive reports without a drink.
        var emptyPolls = 0

        mutating func take(_ holdRequest: HoldRequest?) {
            if self.holdRequest == nil { failures = 0 }
            self.holdRequest = holdRequest
        }
    }

    func due(_ bottle: BottleState) -> MonotonicInstant {
        if let urgent = bottle.requestedSince { return urgent }
        let byDay = bottle.dueByInterval
        guard bottle.failure != .cannotStore, let ended = bottle.lastEnded else { return byDay }
        guard let holdRequest = bottle.hold.holdRequest, let now = updatedAt, holdRequest.until > now else {
            return max(byDay, bottle.hold.freeUntil ?? byDay)
        }
        if kept?.id == bottle.plan.id {
            if let reportedAt {
                return min(byDay, max(reportedAt, ended.advanced(by: HoldTimes.gap(bottle.hold.emptyPolls))))
            }
            let needsQuickReads = holdRequest.isWatched && !bottle.hold.reportsDrinks
            return min(byDay, ended.advanced(by: needsQuickReads ? HoldTimes.unreported : HoldTimes.reported))
        }
        let start = max(ended, bottle.hold.lostAt ?? ended)
        let isShared = kept.map { kept in bottles.contains { $0.plan.id == kept.id && $0.isWanted(now) } } ?? false
        let end =
            switch (isShared, bottle.failure == nil) {
            case (true, true): start.advanced(by: HoldTimes.share)
            // A bottle that does not respond must not delay the polls of a bottle that does.
            case (true, false): byDay
            case (false, _): start.advanced(by: HoldTimes.pause(bottle.hold.failures))
            }
        return max(min(byDay, end), bottle.hold.freeUntil ?? ended)
    }

    var disconnectDue: MonotonicInstant? {
        guard let kept else { return nil }
        guard let holdRequest = bottles.first(where: { $0.plan.id == kept.id })?.hold.holdRequest else {
            return kept.since
        }
        return min(holdRequest.until, kept.since.advanced(by: HoldTimes.maximum))
    }

    mutating func disconnect(_ now: MonotonicInstant) {
        if let kept, let index = bottles.firstIndex(where: { $0.plan.id == kept.id }), bottles[index].isWanted(now) {
            bottles[index].hold.freeUntil = now.advanced(by: HoldTimes.phonePause)
        }
        (kept, reportedAt) = (nil, nil)
    }

    mutating func loseConnection(_ now: MonotonicInstant) {
        guard let lost = kept else { return }
        (kept, reportedAt) = (nil, nil)
        guard let index = bottles.firstIndex(where: { $0.plan.id == lost.id }) else { return }
        bottles[index].hold.lostAt = now
        let isStable = lost.since.duration(to: now) >= HoldTimes.pauses.last
        bottles[index].hold.failures = isStable ? 0 : bottles[index].hold.failures + 1
    }

    mutating func beginPoll(_ index: Int) {
        isCausedByReport = reportedAt != nil && kept?.id == bottles[index].plan.id
        reportedAt = nil
        bottles[index].hold.freeUntil = nil
    }

    mutating func recordConnection(_ index: Int, _ report: PollReport, _ now: MonotonicInstant) {
        let id = bottles[index].plan.id
        let wasKept = kept?.id == id
        if wasKept, report.new > 0 { bottles[index].hold.reportsDrinks = isCausedByReport }
        if report.new > 0 {
            bottles[index].hold.emptyPolls = 0
        } else if isCausedByReport {
            bottles[index].hold.emptyPolls += 1
        }
        if report.failure != nil { bottles[index].hold.failures += 1 }
        guard report.isConnected else {
            (kept, reportedAt) = (nil, nil)
            return
        }
        if !wasKept { kept = (id, now) }
    }
}

extension ServiceMachine.BottleState {
    func isWanted(_ now: MonotonicInstant) -> Bool { hold.holdRequest.map { $0.until > now } ?? false }
}
