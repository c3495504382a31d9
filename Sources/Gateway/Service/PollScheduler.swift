package import Bluetooth
import TrackerCore

/// Schedules the polls of several bottles on one adapter, one poll at a time. A state machine without I/O: events are
/// the input, effects the output, time is a parameter.
///
/// A bottle is due when its poll interval (tracker spec A7) has passed since its last poll, when it is new, and when
/// the user requests a poll. The bottle that has been due longest is polled first, so it waits for at most one poll of
/// each other bottle. A connection with a `HoldRequest` is kept after a poll; a report of the bottle then starts a
/// poll.
package struct PollScheduler: Sendable {
    package enum Event: Sendable {
        /// Sets the bottles and their poll intervals, and starts the next poll if one is due. The caller must send it
        /// at `nextDeadline`, and may send it at any time.
        case setBottles([ScheduledBottle])
        /// Requests an immediate poll of a bottle, or with `nil` of every bottle.
        case pollNow(PollTarget.ID?)
        case bottleReported
        case connectionLost
        /// Reports the end of a poll. It starts no other poll.
        case pollEnded(PollReport)
        case jobEnded(PollReport)
        case stop
    }

    package enum Effect: Sendable {
        /// Polls a bottle. If `keeps` is true, the connection is kept afterwards. The caller must send one `pollEnded`;
        /// no other poll starts before it.
        case poll(PollTarget, PollHistory, keeps: Bool)
        case disconnect
        case log(ServiceMessage)
    }

    /// The schedule and the last results of a bottle.
    struct BottleState {
        var target: PollTarget
        var interval: PollSchedule?
        /// The time at which the interval was set; before the first poll, the time at which the bottle was added.
        var intervalSetAt: MonotonicInstant
        /// The time of a request for an immediate poll.
        var requestedSince: MonotonicInstant?
        var lastEnded: MonotonicInstant?
        var history = PollHistory()
        var failure: PollFailure.Kind?
        /// The identity of the bottle that responded last.
        var lastIdentity: String?
        var hold = Hold()

        /// The time at which the bottle is due by its poll interval.
        var dueByInterval: MonotonicInstant {
            // Poll once when the service starts, also outside drinking hours, to show that it works (tracker spec A7).
            guard let lastEnded else { return intervalSetAt }
            if failure == .cannotStore { return lastEnded.advanced(by: PollScheduler.fallbackInterval) }
            switch interval {
            case .every(let seconds): return lastEnded.advanced(by: .seconds(seconds))
            case .paused(let seconds): return intervalSetAt.advanced(by: .seconds(seconds))
            case nil: return lastEnded.advanced(by: PollScheduler.fallbackInterval)
            }
        }

        /// The end of the bottle's last poll; without a poll, the time at which the first one was due.
        var waitingSince: MonotonicInstant { lastEnded ?? intervalSetAt }
    }

    /// The poll interval of a bottle if its own is unknown, or if its drinks cannot be stored.
    static let fallbackInterval = Duration.seconds(600)
    /// The interval at which the poll interval is read again, because a drink or a setting can change it.
    private static let updateInterval = Duration.seconds(60)

    var bottles: [BottleState] = []
    /// The bottle of the kept connection, and its start.
    var kept: (id: PollTarget.ID, since: MonotonicInstant)?
    /// The time at which the connected bottle sent its first report since the last poll.
    var reportedAt: MonotonicInstant?
    /// Whether the current poll was caused by a report of the bottle.
    var isCausedByReport = false
    private var polling: PollTarget.ID?
    var updatedAt: MonotonicInstant?
    private var isStopped = false

    package init() {}

    /// The time at which the caller must send `setBottles`; `nil` during a poll, and after `stop`.
    package var nextDeadline: MonotonicInstant? {
        guard polling == nil, !isStopped else { return nil }
        let nextUpdate = updatedAt?.advanced(by: Self.updateInterval)
        return (bottles.map(due) + [nextUpdate, disconnectDue].compactMap { $0 }).min()
    }

    /// The time at which the next poll is due; `nil` during a poll, and without a bottle.
    package var nextPoll: MonotonicInstant? { polling == nil && !isStopped ? bottles.map(due).min() : nil }

    package var isKeepingConnection: Bool { kept != nil }

    /// Handles one event. Time must not decrease.
    /// - Returns: the effects to execute now, in order.
    package mutating func handle(_ event: Event, at now: MonotonicInstant) -> [Effect] {
        var effects: [Effect] = []
        switch event {
        case .setBottles(let scheduled):
            update(scheduled, now)
            if let due = disconnectDue, due <= now, polling == nil {
                disconnect(now)
                effects.append(.disconnect)
            }
            if let next = startNextPoll(now) { effects.append(next) }
        case .pollNow(let id):
            for index in bottles.indices where id == nil || bottles[index].target.id == id { requestPoll(index, now) }
        case .bottleReported:
            if kept != nil || polling != nil { reportedAt = reportedAt ?? now }
        case .connectionLost:
            if polling == nil { loseConnection(now) }
        case .jobEnded(let report):
            if !report.isConnected { (kept, reportedAt) = (nil, nil) }
        case .pollEnded(let report):
            effects += finishPoll(report, now)
        case .stop:
            isStopped = true
        }
        return effects
    }

    private mutating func update(_ scheduled: [ScheduledBottle], _ now: MonotonicInstant) {
        updatedAt = now
        let before = bottles
        bottles = scheduled.map { bottleSchedule in
            let target = bottleSchedule.target
            // A bottle that was just adopted was polled under the target of the first bottle that responds.
            let known =
                before.first { $0.target.id == target.id }
                ?? before.first { old in
                    old.lastIdentity.map(target.has) == true && !scheduled.contains { $0.target.id == old.target.id }
                }
            if let known, known.target.id != target.id, kept?.id == known.target.id { kept?.id = target.id }
            var bottle = known ?? BottleState(target: target, intervalSetAt: now)
            bottle.target = target
            bottle.interval = bottleSchedule.interval
            bottle.hold.update(bottleSchedule.holdRequest)
            // A bottle without a poll has been due since its target was added.
            if bottle.lastEnded != nil { bottle.intervalSetAt = now }
            return bottle
        }
    }

    private mutating func requestPoll(_ index: Int, _ now: MonotonicInstant) {
        guard bottles[index].requestedSince == nil else { return }
        // A due bottle keeps its position. A bottle that is being polled is requested again from now on.
        bottles[index].requestedSince = bottles[index].target.id == polling ? now : min(now, due(bottles[index]))
    }

    /// Handles the end of a poll. A request during the poll starts another one, because this one can have missed its
    /// drink.
    private mutating func finishPoll(_ report: PollReport, _ now: MonotonicInstant) -> [Effect] {
        guard let id = polling else { return [] }
        polling = nil
        guard let index = bottles.firstIndex(where: { $0.target.id == id }) else {
            kept = report.isConnected ? (id, now) : nil
            return []
        }
        let before = bottles[index].failure
        bottles[index].lastEnded = now
        bottles[index].history = report.history
        recordConnection(index, report, now)
        if report.failure?.kind != .notOwned, let lastIdentity = report.identity {
            bottles[index].lastIdentity = lastIdentity
        }
        if let failure = report.failure {
            guard failure.kind != .interrupted else { return [] }
            bottles[index].failure = failure.kind
            return [.log(.failed(bottles[index].target, failure, isNew: failure.kind != before))]
        }
        bottles[index].failure = nil
        var messages: [Effect] = []
        let target = bottles[index].target
        if report.isAdopted { messages.append(.log(.adopted(target, report))) }
        if before != nil { messages.append(.log(.respondsAgain(target))) }
        if report.received > 0 || report.undecodable > 0 { messages.append(.log(.receivedRecords(target, report))) }
        return messages
    }

    private mutating func startNextPoll(_ now: MonotonicInstant) -> Effect? {
        guard polling == nil, !isStopped else { return nil }
        let first = bottles.indices.filter { due(bottles[$0]) <= now }.min { left, right in
            (due(bottles[left]), bottles[left].waitingSince) < (due(bottles[right]), bottles[right].waitingSince)
        }
        guard let first else { return nil }
        polling = bottles[first].target.id
        bottles[first].requestedSince = nil
        beginPoll(first)
        return .poll(bottles[first].target, bottles[first].history, keeps: bottles[first].mustHold(now))
    }
}

/// A message of the service for its log.
package enum ServiceMessage: Sendable {
    /// A poll failed. `isNew` is true if the cause differs from that of the previous failure.
    case failed(PollTarget, PollFailure, isNew: Bool)
    /// The bottle responds again after failures.
    case respondsAgain(PollTarget)
    /// An empty store has adopted its first bottle.
    case adopted(PollTarget, PollReport)
    case receivedRecords(PollTarget, PollReport)
}
