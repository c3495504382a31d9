import Bluetooth
import TrackerCore

/// Decides which bottle is polled when: several bottles, one adapter, one poll at a time. A machine without I/O: events
/// go in, effects come out, time is handed in.
///
/// A bottle is due when its person's day asks for it (tracker spec A7), counted from the end of its last poll; at once
/// when it is new, when a person asks. Of several that are due the one that has been due longest goes first, so no
/// bottle waits for more than one poll of each other one, however often it is requested. A connection that is wanted
/// for longer (`HoldWish`) is kept after a poll, and read as soon as the bottle reports something.
package struct ServiceMachine: Sendable {
    /// An event of the service.
    package enum Event: Sendable {
        /// The bottles there are, and how often each is to be polled, as far as that could be found out. Wanted at
        /// `nextDeadline`, and welcome at any time: this begins the next poll, where one is due.
        case plans([BottlePlan], [BottlePlan.ID: PollRhythm], wishes: [BottlePlan.ID: HoldWish] = [:])
        /// A person asks, settings have changed, or the clock was set: poll at once. `nil`: every bottle.
        case poke(BottlePlan.ID?)
        /// The bottle on the kept connection sent something without a request.
        case liveReport
        /// The kept connection was lost.
        case connectionLost
        /// The poll that was asked for is over.
        case pollOver(PollReport)
        /// Something else was done with a bottle, between two polls.
        case errandOver(PollReport)
        /// No further poll is begun.
        case stop
    }

    /// What the service is to do, in order.
    package enum Effect: Sendable {
        /// Poll this bottle. Answered by exactly one `pollOver`; no other poll is asked for before it.
        /// `keeps`: the connection is to be kept afterwards.
        case poll(BottlePlan, PollHistory, keeps: Bool)
        /// End the connection that was kept.
        case letGo
        case say(ServiceNews)
    }

    /// The state of one bottle.
    struct Standing {
        var plan: BottlePlan
        var rhythm: PollRhythm?
        /// When `rhythm` was found out.
        var asOf: MonotonicInstant
        /// To be polled as soon as may be, since then.
        var urgentSince: MonotonicInstant?
        var lastEnded: MonotonicInstant?
        var history = PollHistory()
        var failure: PollFailure.Kind?
        /// The bottle that answered last.
        var met: String?
        var hold = Hold()

        /// When it is due by its person's day.
        var dueByDay: MonotonicInstant {
            // Once when the service starts, at any hour, to show that it works (A7).
            guard let lastEnded else { return asOf }
            if failure == .cannotStore { return lastEnded.advanced(by: ServiceMachine.patience) }
            switch rhythm {
            case .every(let seconds): return lastEnded.advanced(by: .seconds(seconds))
            case .resting(let seconds): return asOf.advanced(by: .seconds(seconds))
            case nil: return lastEnded.advanced(by: ServiceMachine.patience)
            }
        }

        /// Since when it has had its last turn.
        var before: MonotonicInstant { lastEnded ?? asOf }
    }

    /// How long a bottle waits whose day is unknown, or whose drinks cannot be stored.
    static let patience = Duration.seconds(600)
    /// A drink, a setting, another zone may change the rhythm at any time: it is asked for again that often.
    private static let lookEvery = Duration.seconds(60)

    var standings: [Standing] = []
    /// The connection that is kept, and since when.
    var kept: (id: BottlePlan.ID, since: MonotonicInstant)?
    /// When the bottle at the other end first said something that has not been looked at.
    var stirredAt: MonotonicInstant?
    /// The poll under way looks at what the bottle said.
    var isLookAtReport = false
    private var polling: BottlePlan.ID?
    var lookedAt: MonotonicInstant?
    private var isStopped = false

    /// With no bottle yet.
    package init() {}

    /// When `plans` is wanted; `nil` during a poll, and after `stop`.
    package var nextDeadline: MonotonicInstant? {
        guard polling == nil, !isStopped else { return nil }
        let look = lookedAt?.advanced(by: Self.lookEvery)
        return (standings.map(due) + [look, letGoDue].compactMap { $0 }).min()
    }

    /// When the next poll is due; `nil` during a poll, and where there is no bottle.
    package var nextPoll: MonotonicInstant? { polling == nil && !isStopped ? standings.map(due).min() : nil }

    /// A connection is kept.
    package var isHolding: Bool { kept != nil }

    /// The bottle that is being polled.
    package var current: BottlePlan.ID? { polling }

    /// Takes one event. Time does not go back.
    ///
    /// - Returns: what is to be done now, in order.
    package mutating func handle(_ event: Event, at now: MonotonicInstant) -> [Effect] {
        var effects: [Effect] = []
        switch event {
        case .plans(let plans, let rhythms, let wishes):
            take(plans, rhythms, wishes, now)
            if let due = letGoDue, due <= now, polling == nil {
                letGo(now)
                effects.append(.letGo)
            }
            if let next = next(now) { effects.append(next) }
        case .poke(let id):
            for index in standings.indices where id == nil || standings[index].plan.id == id { hurry(index, now) }
        case .liveReport:
            if kept != nil || polling != nil { stirredAt = stirredAt ?? now }
        case .connectionLost:
            if polling == nil { loseConnection(now) }
        case .errandOver(let report):
            if !report.isConnected { (kept, stirredAt) = (nil, nil) }
        case .pollOver(let report):
            effects += over(report, now)
        case .stop:
            isStopped = true
        }
        return effects
    }

    private mutating func take(
        _ plans: [BottlePlan], _ rhythms: [BottlePlan.ID: PollRhythm], _ wishes: [BottlePlan.ID: HoldWish],
        _ now: MonotonicInstant
    ) {
        lookedAt = now
        let before = standings
        standings = plans.map { plan in
            // A bottle that was just adopted was polled under the plan of the first bottle that answers.
            let known =
                before.first { $0.plan.id == plan.id }
                ?? before.first { old in
                    old.met.map(plan.has) == true && !plans.contains { $0.id == old.plan.id }
                }
            if let known, known.plan.id != plan.id, kept?.id == known.plan.id { kept?.id = plan.id }
            var standing = known ?? Standing(plan: plan, asOf: now)
            standing.plan = plan
            standing.rhythm = rhythms[plan.id]
            standing.hold.take(wishes[plan.id])
            // An unpolled bottle has been due since it was first seen.
            if standing.lastEnded != nil { standing.asOf = now }
            return standing
        }
    }

    private mutating func hurry(_ index: Int, _ now: MonotonicInstant) {
        guard standings[index].urgentSince == nil else { return }
        // Who is due already keeps the place; who is being polled has just had it.
        standings[index].urgentSince = standings[index].plan.id == polling ? now : min(now, due(standings[index]))
    }

    /// What has been asked since the poll began is asked still: it may have come too late for this one.
    private mutating func over(_ report: PollReport, _ now: MonotonicInstant) -> [Effect] {
        guard let id = polling else { return [] }
        polling = nil
        guard let index = standings.firstIndex(where: { $0.plan.id == id }) else {
            kept = report.isConnected ? (id, now) : nil
            return []
        }
        let before = standings[index].failure
        standings[index].lastEnded = now
        standings[index].history = report.history
        noteConnection(index, report, now)
        if report.failure?.kind != .notOurs, let met = report.identity { standings[index].met = met }
        if let failure = report.failure {
            guard failure.kind != .interrupted else { return [] }
            standings[index].failure = failure.kind
            return [.say(.failed(standings[index].plan, failure, isNew: failure.kind != before))]
        }
        standings[index].failure = nil
        var news: [Effect] = []
        let plan = standings[index].plan
        if report.isAdopted { news.append(.say(.adopted(plan, report))) }
        if before != nil { news.append(.say(.answersAgain(plan))) }
        if report.received > 0 || report.quarantined > 0 { news.append(.say(.brought(plan, report))) }
        return news
    }

    private mutating func next(_ now: MonotonicInstant) -> Effect? {
        guard polling == nil, !isStopped else { return nil }
        let first = standings.indices.filter { due(standings[$0]) <= now }.min { left, right in
            (due(standings[left]), standings[left].before) < (due(standings[right]), standings[right].before)
        }
        guard let first else { return nil }
        polling = standings[first].plan.id
        standings[first].urgentSince = nil
        beginLook(first)
        return .poll(standings[first].plan, standings[first].history, keeps: standings[first].isWanted(now))
    }
}

/// News of the service for people, each once until it changes.
package enum ServiceNews: Sendable {
    /// A poll failed; `isNew`: otherwise than the one before.
    case failed(BottlePlan, PollFailure, isNew: Bool)
    /// It did not before.
    case answersAgain(BottlePlan)
    /// The first bottle of an empty store has become its own.
    case adopted(BottlePlan, PollReport)
    /// The poll brought something.
    case brought(BottlePlan, PollReport)

    /// Whom it concerns.
    package var plan: BottlePlan {
        switch self {
        case .failed(let plan, _, _), .answersAgain(let plan), .adopted(let plan, _), .brought(let plan, _): plan
        }
    }
}
