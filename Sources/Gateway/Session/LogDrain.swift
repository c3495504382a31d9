import BottleProtocol
import Bluetooth

/// Decides how a bottle's log is drained: ask, collect, store, acknowledge, ask again until nothing is left.
///
/// An acknowledgement names a number of bytes, and the bottle drops that many of its oldest. So it must be certain that
/// the records which we hold *are* the oldest: a frame says how long it is, but nothing says how many frames a dump has.
/// A dump of one whole frame is acknowledged at once. Where something could have been lost unseen (several frames, draft
/// packets by notification, pieces of entries, a record twice in a frame), the log is asked for again, and what both dumps begin with is
/// acknowledged.
struct LogDrain {
    var phase = Phase.idle
    var deadline: MonotonicInstant?
    /// The dump that is arriving.
    private(set) var round = Round()
    /// The dump that is being journaled.
    private var submitted = Round()
    /// The whole log was read.
    var complete = false
    /// Nothing that could be an answer came.
    private(set) var unanswered = false
    /// Why the drain ended as it did, where that needs words.
    var note: String?
    /// Records that the bottle was told to forget, and that have not come again.
    var acknowledged = 0

    let profile: BottleProfile
    /// Nothing is acknowledged.
    private(set) var keep: Bool
    let limits: PollLimits
    private let linger: Duration
    private let reads: Bool

    var sendings = 0
    var dumps = 0
    var flawed = 0
    var refusals = 0
    /// Records that have arrived, repeats included.
    private(set) var taken = 0
    /// An earlier dump that waits for its confirmation.
    var candidate: [[UInt8]]?
    /// What was acknowledged last and may come again.
    var told: [[UInt8]]?
    var lastRead: [UInt8]?

    /// - Parameter reads: the response characteristic is read where it does not notify in time (draft).
    init(profile: BottleProfile, reads: Bool, keep: Bool, hasRadio: Bool, limits: PollLimits) {
        self.profile = profile
        self.reads = reads
        self.keep = keep
        self.limits = limits
        linger =
            profile == .draft ? limits.beforeRead : hasRadio ? limits.linger : limits.lingerWithoutRadio
    }

    /// The command that asks for the log.
    var question: HostCommand { profile == .draft ? .draftDump(1) : .drinkLog }

    mutating func begin() -> [Action] { ask() }

    /// From now on nothing is acknowledged.
    mutating func withhold() { keep = true }

    /// The question has left.
    mutating func asked(at now: MonotonicInstant) {
        guard phase == .asking else { return }
        let mayRead = profile == .draft && reads
        deadline = now.advanced(by: mayRead ? limits.beforeRead : limits.answer)
    }

    /// The bottle said whether records follow.
    mutating func status(follows: Bool, at now: MonotonicInstant) -> [Action] {
        guard phase == .asking else { return [] }
        guard follows else {
            round.ended = true
            return settle()
        }
        receive(at: now)
        return []
    }

    /// Bytes of the log have arrived.
    mutating func progress(at now: MonotonicInstant) {
        guard phase == .asking || phase == .receiving || phase == .lingering else { return }
        round.notified = true
        receive(at: now)
    }

    /// A whole frame of the log. No records: the end of a draft dump.
    mutating func frame(_ records: [[UInt8]], isAcknowledgeable: Bool, at now: MonotonicInstant) -> [Action] {
        if !isAcknowledgeable { flaw("an earlier part of the log went missing") }
        guard phase != .finished else { return [] }
        if phase != .reading { round.notified = true }
        guard !records.isEmpty else {
            round.ended = true
            return phase == .settling || phase == .acknowledging ? [] : settle()
        }
        round.frames.append(records)
        taken += records.count
        guard phase != .settling, phase != .acknowledging else { return [] }
        if taken >= limits.records { return settle() }
        if phase == .reading { return [] }
        phase = .lingering
        deadline = now.advanced(by: linger)
        return []
    }

    /// Records of a frame that will never be whole.
    mutating func loose(_ records: [[UInt8]]) {
        round.loose += records
        taken += records.count
        flaw("a log frame broke off")
    }

    /// A value of the log began or ended in the middle of an entry.
    mutating func piece() { round.isPieced = true }

    mutating func flaw(_ reason: String) {
        if round.flaw == nil { round.flaw = reason }
    }

    /// The frames that a draft packet held have been handed over; `isPacket` tells whether the value was a PT frame at all.
    mutating func readValue(_ value: [UInt8], isPacket: Bool) -> [Action] {
        guard phase == .reading else { return [] }
        if round.ended { return settle() }
        if value == lastRead {
            // The same packet again: a bottle that shows one value until it is asked anew. It was read before.
            round.ended = true
            return settle()
        }
        lastRead = value
        guard isPacket else {
            if value.isEmpty { round.ended = true } else { flaw("what was read is no log packet") }
            return settle()
        }
        return taken >= limits.records ? settle() : [.read]
    }

    /// The value just read repeats the one before: it must not be counted again.
    func isRepetition(_ value: [UInt8]) -> Bool { phase == .reading && value == lastRead }

    /// The round as it stands, to be journaled; what arrives from now on belongs to the next.
    mutating func takeRound() -> Round {
        submitted = round
        round = Round()
        return submitted
    }

    /// All records of the round that was taken are on the disk.
    mutating func settled() -> [Action] {
        guard phase == .settling else { return [] }
        return decide(submitted)
    }

    /// An acknowledgement has been sent, and the log was asked for again to see whether the bottle took it.
    var isVerifying: Bool { told != nil }

    mutating func acknowledgementLeft() -> [Action] {
        guard phase == .acknowledging else { return [] }
        if dumps < limits.dumps, taken < limits.records { return ask() }
        acknowledged += told?.count ?? 0
        return finish(complete: false, "\(taken) records came in one poll and there may be more: the next poll goes on")
    }

    mutating func acknowledgementRefused() -> [Action] {
        told = nil
        return finish(complete: true, "the bottle refused the acknowledgement and keeps its log")
    }

    mutating func tick(at now: MonotonicInstant) -> [Action] {
        guard let due = deadline, due <= now else { return [] }
        deadline = nil
        switch phase {
        case .asking:
            if profile == .draft, reads, !round.notified {
                phase = .reading
                lastRead = nil
                return [.read]
            }
            if sendings < limits.sendings, told == nil { return ask(again: true) }
            if let told {
                // Everything was read and acknowledged; a bottle that has nothing to say says nothing.
                acknowledged += told.count
                return finish(complete: true, nil)
            }
            unanswered = true
            return finish(complete: false, "the bottle did not answer the question for its log")
        case .receiving:
            flaw("the log broke off")
            return settle()
        case .lingering:
            return settle()
        case .idle, .reading, .settling, .acknowledging, .finished:
            return []
        }
    }
}
