import Bluetooth
import TrackerCore

/// A request to keep a bottle's connection after a poll.
package struct HoldRequest: Hashable, Sendable {
    /// The deadline, as far as known.
    package var until: MonotonicInstant
    /// Whether a client watches, so that drinks must appear at once.
    package var isWatched: Bool

    package init(until: MonotonicInstant, isWatched: Bool) {
        self.until = until
        self.isWatched = isWatched
    }

    /// The effect of the setting `bottle.hold` at a moment.
    /// - Parameters:
    ///   - onlookers: the deadline of the clients that watch; `nil`: none.
    ///   - rhythm: a resting bottle is not kept connected, unless a client watches.
    package init?(_ hold: BottleHold, onlookers: MonotonicInstant?, rhythm: PollSchedule?, now: MonotonicInstant) {
        if hold != .never, let onlookers, onlookers > now {
            self.init(until: onlookers, isWatched: true)
        } else if hold == .always, case .every = rhythm {
            self.init(until: now.advanced(by: HoldTimes.stretch), isWatched: false)
        } else {
            return nil
        }
    }
}

/// The durations and read intervals of a kept connection.
package enum HoldTimes {
    /// The time from a client's last request to the disconnect.
    package static let afterLook = Duration.seconds(60)
    /// The time after which the gateway disconnects, because a phone app also needs the bottle's single connection.
    package static let stretch = Duration.seconds(300)
    /// The time for which the gateway then stays disconnected.
    package static let turn = Duration.seconds(30)
    /// The time between two readings after reports. Doubled after each report without a drink, up to `unreported`.
    static let gap = Duration.milliseconds(500)
    /// The read interval while a client watches a bottle that does not report its drinks.
    static let unreported = Duration.seconds(5)
    /// The read interval for a bottle that reports its drinks, or without clients.
    static let reported = Duration.seconds(60)
    /// The time of each bottle if several share the adapter.
    static let share = Duration.seconds(30)
    /// The pauses before the next scan for a lost bottle: doubled each time, up to `last`.
    static let pauses = (first: Duration.seconds(5), last: Duration.seconds(60))

    static func gap(_ emptyPolls: Int) -> Duration { min(gap * (1 << min(emptyPolls, 4)), unreported) }

    static func pause(_ troubles: Int) -> Duration { min(pauses.first * (1 << min(troubles, 4)), pauses.last) }
}

// The kept connection: its deadline, its read interval, and the next attempt.
extension ServiceMachine {
    struct Hold {
        var wish: HoldRequest?
        /// The number of consecutive failed polls and short connections.
        var troubles = 0
        var lostAt: MonotonicInstant?
        var freeUntil: MonotonicInstant?
        /// Whether the bottle reported its last drink.
        var reportsDrinks = false
        /// The number of consecutive reports without a drink.
        var emptyPolls = 0

        mutating func take(_ wish: HoldRequest?) {
            if self.wish == nil { troubles = 0 }
            self.wish = wish
        }
    }

    func due(_ standing: Standing) -> MonotonicInstant {
        if let urgent = standing.urgentSince { return urgent }
        let byDay = standing.dueByDay
        guard standing.failure != .cannotStore, let ended = standing.lastEnded else { return byDay }
        guard let wish = standing.hold.wish, let now = lookedAt, wish.until > now else {
            return max(byDay, standing.hold.freeUntil ?? byDay)
        }
        if kept?.id == standing.plan.id {
            if let stirredAt {
                return min(byDay, max(stirredAt, ended.advanced(by: HoldTimes.gap(standing.hold.emptyPolls))))
            }
            let isQuick = wish.isWatched && !standing.hold.reportsDrinks
            return min(byDay, ended.advanced(by: isQuick ? HoldTimes.unreported : HoldTimes.reported))
        }
        let start = max(ended, standing.hold.lostAt ?? ended)
        let isShared = kept.map { kept in standings.contains { $0.plan.id == kept.id && $0.isWanted(now) } } ?? false
        let wanted =
            switch (isShared, standing.failure == nil) {
            case (true, true): start.advanced(by: HoldTimes.share)
            // A bottle that does not respond takes no time from one that does.
            case (true, false): byDay
            case (false, _): start.advanced(by: HoldTimes.pause(standing.hold.troubles))
            }
        return max(min(byDay, wanted), standing.hold.freeUntil ?? ended)
    }

    var disconnectDue: MonotonicInstant? {
        guard let kept else { return nil }
        guard let wish = standings.first(where: { $0.plan.id == kept.id })?.hold.wish else { return kept.since }
        return min(wish.until, kept.since.advanced(by: HoldTimes.stretch))
    }

    mutating func disconnect(_ now: MonotonicInstant) {
        if let kept, let index = standings.firstIndex(where: { $0.plan.id == kept.id }), standings[index].isWanted(now)
        {
            standings[index].hold.freeUntil = now.advanced(by: HoldTimes.turn)
        }
        (kept, stirredAt) = (nil, nil)
    }

    mutating func loseConnection(_ now: MonotonicInstant) {
        guard let lost = kept else { return }
        (kept, stirredAt) = (nil, nil)
        guard let index = standings.firstIndex(where: { $0.plan.id == lost.id }) else { return }
        standings[index].hold.lostAt = now
        let isStable = lost.since.duration(to: now) >= HoldTimes.pauses.last
        standings[index].hold.troubles = isStable ? 0 : standings[index].hold.troubles + 1
    }

    mutating func beginPoll(_ index: Int) {
        isCausedByReport = stirredAt != nil && kept?.id == standings[index].plan.id
        stirredAt = nil
        standings[index].hold.freeUntil = nil
    }

    mutating func noteConnection(_ index: Int, _ report: PollReport, _ now: MonotonicInstant) {
        let id = standings[index].plan.id
        let wasKept = kept?.id == id
        if wasKept, report.new > 0 { standings[index].hold.reportsDrinks = isCausedByReport }
        if report.new > 0 {
            standings[index].hold.emptyPolls = 0
        } else if isCausedByReport {
            standings[index].hold.emptyPolls += 1
        }
        if report.failure != nil { standings[index].hold.troubles += 1 }
        guard report.isConnected else {
            (kept, stirredAt) = (nil, nil)
            return
        }
        if !wasKept { kept = (id, now) }
    }
}

extension ServiceMachine.Standing {
    func isWanted(_ now: MonotonicInstant) -> Bool { hold.wish.map { $0.until > now } ?? false }
}
