package import Bluetooth
package import TrackerCore

/// A request to keep a bottle's connection after a poll.
package struct HoldRequest: Hashable, Sendable {
    /// The time until which the connection is kept. A later request can extend it.
    package var until: MonotonicInstant
    /// Whether a client views the data, so that drinks must appear at once.
    package var isWatched: Bool
}

extension HoldRequest {
    /// The request that the setting `bottle.hold` causes at a time; `nil` if the connection is not kept.
    /// - Parameters:
    ///   - viewers: the time until which clients view the data; `nil` without clients.
    ///   - interval: the poll interval. During a pause, only a client that views the data keeps the connection.
    package init?(_ hold: ConnectionHold, viewers: MonotonicInstant?, interval: PollSchedule?, now: MonotonicInstant) {
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
    package static let afterLastRequest = Duration.seconds(60)
    /// The time after which the gateway disconnects, because a phone app also needs the bottle's single connection.
    package static let maximum = Duration.seconds(300)
    /// The time for which the gateway stays disconnected after `maximum`.
    package static let phonePause = Duration.seconds(30)
    /// The interval of readings after reports. It doubles after each report without a drink, up to `watchedInterval`.
    static let shortestReportInterval = Duration.milliseconds(500)
    /// The read interval while a client views the data of a bottle that does not report its drinks.
    static let watchedInterval = Duration.seconds(5)
    /// The read interval if no client views the data, or if the bottle reports its drinks.
    static let usualInterval = Duration.seconds(60)
    /// The time for which each of several bottles on one adapter is kept connected.
    static let sharedConnection = Duration.seconds(30)
    /// The pause before the next scan for a lost bottle: `first`, doubled each time, up to `last`.
    static let retryPauses = (first: Duration.seconds(5), last: Duration.seconds(60))

    static func reportInterval(_ emptyPolls: Int) -> Duration {
        min(shortestReportInterval * (1 << min(emptyPolls, 4)), watchedInterval)
    }

    static func retryPause(_ failures: Int) -> Duration {
        min(retryPauses.first * (1 << min(failures, 4)), retryPauses.last)
    }
}

// The kept connection: its deadline, its read interval, and the time of the next attempt.
extension PollScheduler {
    /// The state of a bottle's kept connection over several polls.
    struct Hold {
        var holdRequest: HoldRequest?
        /// The number of consecutive failed polls and short connections.
        var failures = 0
        var lostAt: MonotonicInstant?
        var disconnectedUntil: MonotonicInstant?
        var reportsDrinks = false
        /// The number of consecutive reports without a drink.
        var emptyPolls = 0

        mutating func update(_ holdRequest: HoldRequest?) {
            if self.holdRequest == nil { failures = 0 }
            self.holdRequest = holdRequest
        }
    }

    func due(_ bottle: BottleState) -> MonotonicInstant {
        if let urgent = bottle.requestedSince { return urgent }
        let byInterval = bottle.dueByInterval
        guard bottle.failure != .cannotStore, let ended = bottle.lastEnded else { return byInterval }
        guard let holdRequest = bottle.hold.holdRequest, let now = updatedAt, holdRequest.until > now else {
            return max(byInterval, bottle.hold.disconnectedUntil ?? byInterval)
        }
        if kept?.id == bottle.target.id {
            if let reportedAt {
                return min(
                    byInterval, max(reportedAt, ended.advanced(by: HoldTimes.reportInterval(bottle.hold.emptyPolls))))
            }
            let needsQuickReads = holdRequest.isWatched && !bottle.hold.reportsDrinks
            return min(
                byInterval, ended.advanced(by: needsQuickReads ? HoldTimes.watchedInterval : HoldTimes.usualInterval))
        }
        let start = max(ended, bottle.hold.lostAt ?? ended)
        let isShared = kept.map { kept in bottles.contains { $0.target.id == kept.id && $0.mustHold(now) } } ?? false
        let end =
            switch (isShared, bottle.failure == nil) {
            case (true, true): start.advanced(by: HoldTimes.sharedConnection)
            // A bottle that does not respond must not delay the polls of a bottle that does.
            case (true, false): byInterval
            case (false, _): start.advanced(by: HoldTimes.retryPause(bottle.hold.failures))
            }
        return max(min(byInterval, end), bottle.hold.disconnectedUntil ?? ended)
    }

    var disconnectDue: MonotonicInstant? {
        guard let kept else { return nil }
        guard let holdRequest = bottles.first(where: { $0.target.id == kept.id })?.hold.holdRequest else {
            return kept.since
        }
        return min(holdRequest.until, kept.since.advanced(by: HoldTimes.maximum))
    }

    mutating func disconnect(_ now: MonotonicInstant) {
        if let kept, let index = bottles.firstIndex(where: { $0.target.id == kept.id }), bottles[index].mustHold(now) {
            bottles[index].hold.disconnectedUntil = now.advanced(by: HoldTimes.phonePause)
        }
        (kept, reportedAt) = (nil, nil)
    }

    mutating func loseConnection(_ now: MonotonicInstant) {
        guard let lost = kept else { return }
        (kept, reportedAt) = (nil, nil)
        guard let index = bottles.firstIndex(where: { $0.target.id == lost.id }) else { return }
        bottles[index].hold.lostAt = now
        let isStable = lost.since.duration(to: now) >= HoldTimes.retryPauses.last
        bottles[index].hold.failures = isStable ? 0 : bottles[index].hold.failures + 1
    }

    mutating func beginPoll(_ index: Int) {
        isCausedByReport = reportedAt != nil && kept?.id == bottles[index].target.id
        reportedAt = nil
        bottles[index].hold.disconnectedUntil = nil
    }

    mutating func recordConnection(_ index: Int, _ report: PollReport, _ now: MonotonicInstant) {
        let id = bottles[index].target.id
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

extension PollScheduler.BottleState {
    func mustHold(_ now: MonotonicInstant) -> Bool { hold.holdRequest.map { $0.until > now } ?? false }
}
