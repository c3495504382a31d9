import Bluetooth
import TrackerCore

/// Schedules the polls of several bottles on one adapter, one poll at a time. A state machine without I/O: events are
/// the input, effects the output, time is a parameter.
///
/// A bottle is due at its poll interval (tracker spec A7) after its last poll. A new bottle is due at once, and on a
/// user's request. The bottle that has been due longest is polled first. So a bottle waits for at most one poll of each
/// other bottle, however often it is requested. A connection with a `HoldRequest` is kept after a poll, and read as
/// soon as the bottle reports something.
package struct ServiceMachine: Sendable {
    package enum Event: Sendable {
        /// The bottles and their poll intervals, as far as known. Required at `nextDeadline`, and accepted at any time:
        /// this starts the next poll if one is due.
        case plans([ScheduledBottle])
        /// Poll at once: a user's request, changed settings, or a change of the clock. `nil`: every bottle.
        case pollNow(BottlePlan.ID?)
        case liveReport
        case connectionLost
        /// Start no other poll.
        case pollOver(PollReport)
        /// A job other than a poll is over.
        case jobOver(PollReport)
        /// Start no further poll.
        case stop
    }

    package enum Effect: Sendable {
        /// Poll this bottle. The caller sends exactly one `pollOver`; no other poll is requested before it. `keeps`:
        /// keep the connection afterwards.
        case poll(BottlePlan, PollHistory, keeps: Bool)
        case disconnect
        case say(ServiceNews)
    }

    struct BottleState {
        var plan: BottlePlan
        var interval: PollSchedule?
        var asOf: MonotonicInstant
        /// The time of a request for an immediate poll.
        var urgentSince: MonotonicInstant?
        var lastEnded: MonotonicInstant?
        var history = PollHistory()
        var failure: PollFailure.Kind?
        /// The bottle that responded last.
        var met: String?
        var hold = Hold()

        /// The time at which the bottle is due by its poll interval.
        var dueByDay: MonotonicInstant {
            // Poll once when the service starts, at any hour, to show that it works (A7).
            guard let lastEnded else { return asOf }
            if failure == .cannotStore { return lastEnded.advanced(by: ServiceMachine.fallbackInterval) }
            switch interval {
            case .every(let seconds): return lastEnded.advanced(by: .seconds(seconds))
            case .resting(let seconds): return asOf.advanced(by: .seconds(seconds))
            case nil: return lastEnded.advanced(by: ServiceMachine.fallbackInterval)
            }
        }

        /// The time of its last poll.
        var before: MonotonicInstant { lastEnded ?? asOf }
    }

    /// The wait for a bottle whose interval is unknown, or whose drinks cannot be stored.
    static let fallbackInterval = Duration.seconds(600)
    /// The interval of queries for the poll interval, which a drink, a setting or another zone may change.
    private static let updateInterval = Duration.seconds(60)

    var bottles: [BottleState] = []
    /// The bottle of the kept connection, and its start.
    var kept: (id: BottlePlan.ID, since: MonotonicInstant)?
    /// When the connected bottle first sent data that has not been read.
    var reportedAt: MonotonicInstant?
    /// Whether the current poll was caused by a report of the bottle.
    var isCausedByReport = false
    private var polling: BottlePlan.ID?
    var updatedAt: MonotonicInstant?
    private var isStopped = false

    package init() {}

    /// The time at which `plans` is required; `nil` during a poll, and after `stop`.
    package var nextDeadline: MonotonicInstant? {
        guard polling == nil, !isStopped else { return nil }
        let look = updatedAt?.advanced(by: Self.updateInterval)
        return (bottles.map(due) + [look, disconnectDue].compactMap { $0 }).min()
    }

    /// The time at which the next poll is due; `nil` during a poll, and without a bottle.
    package var nextPoll: MonotonicInstant? { polling == nil && !isStopped ? bottles.map(due).min() : nil }

    package var isHolding: Bool { kept != nil }

    package var current: BottlePlan.ID? { polling }

    /// Handles one event. Time must not decrease.
    /// - Returns: the effects to execute now, in order.
    package mutating func handle(_ event: Event, at now: MonotonicInstant) -> [Effect] {
        var effects: [Effect] = []
        switch event {
        case .plans(let days):
            take(days, now)
            if let due = disconnectDue, due <= now, polling == nil {
                disconnect(now)
                effects.append(.disconnect)
            }
            if let next = next(now) { effects.append(next) }
        case .pollNow(let id):
            for index in bottles.indices where id == nil || bottles[index].plan.id == id { makeUrgent(index, now) }
        case .liveReport:
            if kept != nil || polling != nil { reportedAt = reportedAt ?? now }
        case .connectionLost:
            if polling == nil { loseConnection(now) }
        case .jobOver(let report):
            if !report.isConnected { (kept, reportedAt) = (nil, nil) }
        case .pollOver(let report):
            effects += over(report, now)
        case .stop:
            isStopped = true
        }
        return effects
    }

    private mutating func take(_ days: [ScheduledBottle], _ now: MonotonicInstant) {
        updatedAt = now
        let before = bottles
        bottles = days.map { day in
            let plan = day.plan
            // A newly adopted bottle was polled under the plan of the first bottle that responds.
            let known =
                before.first { $0.plan.id == plan.id }
                ?? before.first { old in
                    old.met.map(plan.has) == true && !days.contains { $0.plan.id == old.plan.id }
                }
            if let known, known.plan.id != plan.id, kept?.id == known.plan.id { kept?.id = plan.id }
            var bottle = known ?? BottleState(plan: plan, asOf: now)
            bottle.plan = plan
            bottle.interval = day.interval
            bottle.hold.take(day.holdRequest)
            // A bottle without a poll has been due since it was first seen.
            if bottle.lastEnded != nil { bottle.asOf = now }
            return bottle
        }
    }

    private mutating func makeUrgent(_ index: Int, _ now: MonotonicInstant) {
        guard bottles[index].urgentSince == nil else { return }
        // A due bottle keeps its position; the polled bottle has just had its turn.
        bottles[index].urgentSince = bottles[index].plan.id == polling ? now : min(now, due(bottles[index]))
    }

    /// Handles the end of a poll. A request during the poll stays open, because it may have come too late for this one.
    private mutating func over(_ report: PollReport, _ now: MonotonicInstant) -> [Effect] {
        guard let id = polling else { return [] }
        polling = nil
        guard let index = bottles.firstIndex(where: { $0.plan.id == id }) else {
            kept = report.isConnected ? (id, now) : nil
            return []
        }
        let before = bottles[index].failure
        bottles[index].lastEnded = now
        bottles[index].history = report.history
        noteConnection(index, report, now)
        if report.failure?.kind != .notOurs, let met = report.identity { bottles[index].met = met }
        if let failure = report.failure {
            guard failure.kind != .interrupted else { return [] }
            bottles[index].failure = failure.kind
            return [.say(.failed(bottles[index].plan, failure, isNew: failure.kind != before))]
        }
        bottles[index].failure = nil
        var news: [Effect] = []
        let plan = bottles[index].plan
        if report.isAdopted { news.append(.say(.adopted(plan, report))) }
        if before != nil { news.append(.say(.answersAgain(plan))) }
        if report.received > 0 || report.quarantined > 0 { news.append(.say(.brought(plan, report))) }
        return news
    }

    private mutating func next(_ now: MonotonicInstant) -> Effect? {
        guard polling == nil, !isStopped else { return nil }
        let first = bottles.indices.filter { due(bottles[$0]) <= now }.min { left, right in
            (due(bottles[left]), bottles[left].before) < (due(bottles[right]), bottles[right].before)
        }
        guard let first else { return nil }
        polling = bottles[first].plan.id
        bottles[first].urgentSince = nil
        beginPoll(first)
        return .poll(bottles[first].plan, bottles[first].history, keeps: bottles[first].isWanted(now))
    }
}

package enum ServiceNews: Sendable {
    /// A poll failed. `isNew` is set if the cause differs from the previous one.
    case failed(BottlePlan, PollFailure, isNew: Bool)
    /// The bottle responds again after failures.
    case answersAgain(BottlePlan)
    /// An empty store has adopted its first bottle.
    case adopted(BottlePlan, PollReport)
    case brought(BottlePlan, PollReport)

    package var plan: BottlePlan {
        switch self {
        case .failed(let plan, _, _), .answersAgain(let plan), .adopted(let plan, _), .brought(let plan, _): plan
        }
    }
}
