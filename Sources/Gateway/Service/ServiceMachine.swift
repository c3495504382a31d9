import Bluetooth
import TrackerCore

/// Decides which bottle is polled when: several bottles, one adapter, one poll at a time. A machine without I/O: events go in, effects
/// come out, time is handed in.
///
/// A bottle is due when its person's day asks for it (tracker law A7), counted from the end of its last poll; at once when it is new,
/// when a person asks, and when it reports something by itself. Of several that are due the one that has been due longest goes first, so
/// no bottle waits for more than one poll of each other one, however often somebody asks.
public struct ServiceMachine: Sendable {
    public enum Event: Sendable {
        /// The bottles there are, and how often each is to be polled, as far as that could be found out. Wanted at `nextDeadline`, and
        /// welcome at any time: this begins the next poll, where one is due.
        case plans([BottlePlan], [BottlePlan.ID: PollRhythm])
        /// A person asks, settings have changed, or the clock was set: poll at once. `nil`: every bottle.
        case poke(BottlePlan.ID?)
        /// A bottle said something by itself: its log is worth a look.
        case liveReport(BottlePlan.ID)
        /// The poll that was asked for is over.
        case pollOver(PollReport)
        /// No further poll is begun.
        case stop
    }

    public enum Effect: Sendable {
        /// Poll this bottle. Answered by exactly one `pollOver`; no other poll is asked for before it.
        case poll(BottlePlan, PollHistory)
        case say(ServiceNews)
    }

    /// What is known of one bottle, beside its plan.
    private struct Standing {
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

        var due: MonotonicInstant {
            if let urgentSince { return urgentSince }
            guard let lastEnded else { return asOf }
            if failure == .cannotStore { return lastEnded.advanced(by: ServiceMachine.patience) }
            switch rhythm {
            case .every(let seconds): return lastEnded.advanced(by: .seconds(seconds))
            case .resting(let seconds): return asOf.advanced(by: .seconds(seconds))
            case nil: return lastEnded.advanced(by: ServiceMachine.patience)
            }
        }
    }

    /// How long a bottle waits whose day is unknown, or whose drinks cannot be stored.
    private static let patience = Duration.seconds(600)
    /// A drink, a setting, another zone may change the rhythm at any time: it is asked for again that often.
    private static let lookEvery = Duration.seconds(60)

    private var standings: [Standing] = []
    private var polling: BottlePlan.ID?
    private var lookedAt: MonotonicInstant?
    private var isStopped = false

    public init() {}

    /// When `plans` is wanted; `nil` during a poll, and after `stop`.
    public var nextDeadline: MonotonicInstant? {
        guard polling == nil, !isStopped else { return nil }
        let look = lookedAt?.advanced(by: Self.lookEvery)
        return (standings.map(\.due) + [look].compactMap { $0 }).min()
    }

    /// When the next poll is due; `nil` during a poll, and where there is no bottle.
    public var nextPoll: MonotonicInstant? { polling == nil && !isStopped ? standings.map(\.due).min() : nil }

    /// The bottle that is being polled.
    public var current: BottlePlan.ID? { polling }

    public mutating func handle(_ event: Event, at now: MonotonicInstant) -> [Effect] {
        var effects: [Effect] = []
        switch event {
        case .plans(let plans, let rhythms):
            take(plans, rhythms, now)
            if let next = next(now) { effects.append(next) }
        case .poke(let id):
            for index in standings.indices where id == nil || standings[index].plan.id == id { hurry(index, now) }
        case .liveReport(let id):
            for index in standings.indices where standings[index].plan.id == id { hurry(index, now) }
        case .pollOver(let report):
            effects += over(report, now)
        case .stop:
            isStopped = true
        }
        return effects
    }

    private mutating func take(_ plans: [BottlePlan], _ rhythms: [BottlePlan.ID: PollRhythm], _ now: MonotonicInstant) {
        lookedAt = now
        let before = standings
        standings = plans.map { plan in
            // A bottle that was adopted a moment ago was polled a moment ago, under the plan of whoever answers.
            let known = before.first { $0.plan.id == plan.id }
                ?? before.first { old in old.met.map(plan.has) == true && !plans.contains { $0.id == old.plan.id } }
            var standing = known ?? Standing(plan: plan, asOf: now)
            standing.plan = plan
            standing.rhythm = rhythms[plan.id]
            // An unpolled bottle has been due since it was first seen.
            if standing.lastEnded != nil { standing.asOf = now }
            return standing
        }
    }

    private mutating func hurry(_ index: Int, _ now: MonotonicInstant) {
        guard standings[index].urgentSince == nil else { return }
        // Who is due already keeps the place; who is being polled has just had it.
        standings[index].urgentSince = standings[index].plan.id == polling ? now : min(now, standings[index].due)
    }

    /// What has been asked since the poll began is asked still: it may have come too late for this one.
    private mutating func over(_ report: PollReport, _ now: MonotonicInstant) -> [Effect] {
        guard let id = polling else { return [] }
        polling = nil
        guard let index = standings.firstIndex(where: { $0.plan.id == id }) else { return [] }
        let before = standings[index].failure
        standings[index].lastEnded = now
        standings[index].history = report.history
        if report.failure?.kind != .notOurs, let met = report.identity { standings[index].met = met }
        if let failure = report.failure {
            guard failure.kind != .interrupted else { return [] }
            standings[index].failure = failure.kind
            return [.say(.failed(standings[index].plan, failure, isNew: failure.kind != before))]
        }
        standings[index].failure = nil
        var news: [Effect] = []
        if report.isAdopted { news.append(.say(.adopted(report))) }
        if before != nil { news.append(.say(.answersAgain(standings[index].plan))) }
        if report.received > 0 || report.quarantined > 0 { news.append(.say(.brought(report))) }
        return news
    }

    private mutating func next(_ now: MonotonicInstant) -> Effect? {
        guard polling == nil, !isStopped else { return nil }
        let due = standings.indices.filter { standings[$0].due <= now }
        let first = due.min { left, right in
            (standings[left].due, standings[left].lastEnded ?? standings[left].asOf) < (standings[right].due, standings[right].lastEnded ?? standings[right].asOf)
        }
        guard let first else { return nil }
        polling = standings[first].plan.id
        standings[first].urgentSince = nil
        return .poll(standings[first].plan, standings[first].history)
    }
}

/// What the service has to tell a person, each once until it changes.
public enum ServiceNews: Sendable {
    /// A poll failed; `isNew`: otherwise than the one before.
    case failed(BottlePlan, PollFailure, isNew: Bool)
    /// It did not before.
    case answersAgain(BottlePlan)
    /// The first bottle of an empty store has become its own.
    case adopted(PollReport)
    /// The poll brought something.
    case brought(PollReport)
}
