import BottleProtocol
import Bluetooth
import TrackerCore

/// Decides how a bottle's log is drained: ask, collect, store, acknowledge, ask again until nothing is left.
///
/// An acknowledgement names a number of bytes, and the bottle drops that many of its oldest records; some may drop the
/// oldest of what they *sent*, some the oldest that they *have* when it arrives (a bottle that counts). So what matters
/// is one thing: among the N oldest there must be no record that the journal has not. Which of ours they are does not
/// matter.
///
/// A frame says how long it is, but nothing says how many frames a dump has, so a whole frame can be lost without a
/// trace. An acknowledgement of N is sent when all of these hold (`LogEvidence.acknowledgeable`):
///
/// 1. *Each of the N places was read often enough.* A log loses its oldest and gains newest, so what an earlier reading
///    and the latest have in common, c records, says that the c oldest records now were all in the bottle at that
///    reading, and were sent in it. An unseen record among them would have been lost in both. Two readings do, four
///    where a single lost notification leaves no trace (draft packets, frames of one notification), half as many again
///    once a loss was noticed. Records that the journal had since an earlier poll that read the whole log stand for the
///    readings that brought them: half of those needed. So a slow bottle gets through over several polls. A partial
///    reading of a newest-first reader proves nothing of what is older, so there the journal does not count.
/// 2. *The ring did not turn over in between.* A bottle that counts and whose ring is full loses its oldest with each
///    new sip; then the N oldest are others than those we read, up to `sips` places on. How many sips there can be
///    follows from the time since the question was given to the link (`sipsSince`). Where the ring is known to have
///    room for them (it held more in an earlier reading: `capacity`) nothing can turn over; otherwise so many of the
///    newest are left in the bottle, half of the log at most. The next reading shows them again, and by then the ring
///    has room.
/// 3. *The journal has them all* as records (promise 1), now: it is asked after each reading.
///
/// 4. *The reading is the answer to the last question.* A bottle may take the acknowledgement for the oldest of what it
///    sent last; where a question was repeated, or a dump was judged before it was over, what is read is older than
///    that, and between the two the ring may have turned over however many times. Then nothing is acknowledged before
///    the link has been quiet (`LogDrain+Quiet`).
///
/// Records count once however often they came, so N is never more than what the bottle holds. After each
/// acknowledgement the log is read again: what is gone was taken (`LogEvidence.judge`); what is still there was looked
/// at twice before another acknowledgement is sent, for a late answer may be from before. What no reading ever brought,
/// lost on the air each time, no gateway can know of.
struct LogDrain {
    var phase = Phase.idle
    var deadline: MonotonicInstant?
    /// The dump that is arriving.
    var round = Round()
    /// The dump that is being journaled.
    private var submitted = Round()
    /// The whole log was read.
    var complete = false
    /// Nothing that could be an answer came.
    private(set) var unanswered = false
    /// Why the drain ended as it did, where that needs words.
    var note: String?
    var evidence: LogEvidence

    let profile: BottleProfile
    let keep: Bool
    let limits: PollLimits
    /// When the poll's time is over.
    let budgetEnd: MonotonicInstant
    private let linger: Duration
    private let reads: Bool
    private let isListening: Bool

    var sendings = 0
    var dumps = 0
    var flawed = 0
    /// The log was read whole at least once on this connection.
    var hasRead = false
    /// When the question of this dump was first on its way (that it was written may be heard late), and how long the
    /// dump before took.
    var askedAt: MonotonicInstant?
    var lastTook = Duration.zero
    /// Records that have arrived, each counted once a connection.
    private var distinct: Set<[UInt8]> = []
    private var lastRead: [UInt8]?
    /// The dump is about to be judged, and what still waits for its other half belongs to it, and is missing.
    var isClosing = false
    /// A frame is arriving in several values.
    private var isInParts = false
    /// An earlier question of this connection, or the rest of what it brought, may still be on its way: see
    /// `LogDrain+Quiet`.
    var isBehind = false
    /// A dump was judged without its end, an empty frame: that may still come, and it does not say that the log is
    /// empty.
    private var owesEnd = false
    /// A question or another write of this connection waits for its response: the link is not quiet, however long
    /// nothing has come.
    var isWriting = false
    /// The bottle says on this connection whether records follow, as retail bottles do.
    var tellsStatus = false

    var taken: Int { distinct.count }

    /// - Parameters:
    ///   - reads: the response characteristic is read where it does not notify in time (draft).
    ///   - isListening: the subscription stands, so that a log is notified.
    ///   - evidence: what earlier connections of this poll have seen.
    init(
        profile: BottleProfile, reads: Bool, isListening: Bool, keep: Bool, hasRadio: Bool, limits: PollLimits,
        evidence: LogEvidence = LogEvidence(),
        budgetEnd: MonotonicInstant
    ) {
        self.profile = profile
        self.reads = reads
        self.isListening = isListening
        self.keep = keep
        self.limits = limits
        self.evidence = evidence
        self.budgetEnd = budgetEnd
        linger =
            profile == .draft ? limits.beforeRead : hasRadio ? limits.linger : limits.lingerWithoutRadio
    }

    /// The command that asks for the log.
    var question: HostCommand { profile == .draft ? .draftDump(1) : .drinkLog }

    mutating func begin(at now: MonotonicInstant) -> [Action] { ask(at: now) }

    /// The question has left, and the bottle may have had it for a while.
    mutating func asked(at now: MonotonicInstant) {
        guard phase == .asking else { return }
        let mayRead = profile == .draft && reads
        deadline = now.advanced(by: mayRead ? limits.beforeRead : limits.answer)
    }

    /// The bottle said whether records follow: with that a dump begins.
    mutating func status(follows: Bool, at now: MonotonicInstant) -> [Action] {
        tellsStatus = true
        guard phase == .asking || phase == .receiving || phase == .lingering else {
            fallBehind(at: now)
            return []
        }
        if !round.frames.isEmpty || !round.loose.isEmpty {
            round.beginAnew()
            isBehind = true
        }
        round.hasStatus = true
        guard follows else {
            round.ended = true
            return settle()
        }
        receive(at: now)
        return []
    }

    /// Bytes of the log have arrived.
    mutating func progress(at now: MonotonicInstant) {
        (isInParts, evidence.hasBegun) = (true, true)
        if phase == .quiet || isOfEarlierDump { return fallBehind(at: now) }
        guard phase == .asking || phase == .receiving || phase == .lingering else { return }
        round.notified = true
        receive(at: now)
    }

    /// The question has not been confirmed yet, and the dump before it was judged without its end: what comes now is
    /// the rest of that, held up with everything else on the link. A bottle that answers before it confirms is asked
    /// once more.
    private var isOfEarlierDump: Bool { phase == .asking && isWriting && owesEnd }

    /// A whole frame of the log. No records: the end of a draft dump.
    /// `isPieced`: its values were cut inside records, and only its length says that they belong together.
    mutating func frame(_ records: [[UInt8]], isAcknowledgeable: Bool, isPieced: Bool = false, at now: MonotonicInstant)
        -> [Action]
    {
        let isSingle = !isInParts
        isInParts = false
        guard phase != .finished else { return [] }
        distinct.formUnion(records)
        if isPieced { round.pieced.formUnion(records) } else { round.proven.formUnion(records) }
        if phase == .settling || phase == .acknowledging || phase == .idle || phase == .quiet || isOfEarlierDump {
            // The dump that it belongs to was judged without it.
            round.strays += records
            owesEnd = profile == .draft && !records.isEmpty
            fallBehind(at: now)
            return []
        }
        if owesEnd, records.isEmpty, round.frames.isEmpty, phase != .reading {
            owesEnd = false
            return []
        }
        if !isAcknowledgeable { flaw("an earlier part of the log went missing") }
        if phase != .reading { round.notified = true }
        guard !records.isEmpty else {
            round.ended = true
            owesEnd = false
            return settle()
        }
        if phase != .reading, round.isRepeated(by: records, hasAll: isAcknowledgeable) {
            // What came before comes again: the dump began anew, or an earlier answer was late.
            round.beginAnew(with: records)
        }
        round.frames.append(records)
        if isSingle { round.singles += 1 }
        if taken >= limits.records { return settle(leavingRest: true) }
        if phase == .reading { return [] }
        if profile == .retail, let newest = evidence.latest.last, records.contains(newest),
            round.frames.count > 1 || !isSingle
        {
            // All that was there at the reading before has come; newer ones come with the next. A single notification
            // may be the last of several: the frame before it may be late, as it may have been lost in the reading
            // before.
            return settle(leavingRest: true)
        }
        phase = .lingering
        deadline = now.advanced(by: linger)
        return []
    }

    /// Records of a frame that will never be whole.
    mutating func loose(_ records: [[UInt8]]) {
        isInParts = false
        distinct.formUnion(records)
        round.proven.formUnion(records)
        if phase == .settling && !isClosing || phase == .acknowledging || phase == .idle || phase == .quiet {
            round.strays += records
        } else {
            round.loose += records
            flaw("a log frame broke off")
        }
    }

    /// What still waited for its other half when the question left was of the dump before.
    mutating func forgetEarlierDump() { round.beginAnew() }

    mutating func flaw(_ reason: String) {
        if round.flaw == nil { (round.flaw, round.framesBeforeFlaw) = (reason, round.frames.count) }
    }

    /// The frames that a draft packet held have been handed over; `isPacket` tells whether the value was a PT frame at
    /// all.
    mutating func readValue(_ value: [UInt8], isPacket: Bool) -> [Action] {
        guard phase == .reading else { return [] }
        if round.ended { return settle() }
        if value == lastRead {
            // The same packet again: a bottle that shows one value until it is asked anew. It was read before.
            round.ended = true
            round.isOnePacket = true
            return settle()
        }
        if value.isEmpty, isListening, round.frames.isEmpty {
            // What it says it notifies: that nothing can be read means only that the question was lost or ignored.
            if sendings < limits.sendings { return askAgain() }
            // Nor that what it had is gone, on whichever connection that came.
            if hasRead || !evidence.latest.isEmpty {
                return finish(
                    complete: true,
                    isVerifying ? "the bottle did not say whether it took the last acknowledgement" : nil)
            }
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
        isClosing = false
        submitted = round
        round = Round()
        return submitted
    }

    /// The records of the dump that is being journaled.
    var records: [[UInt8]] { submitted.records }

    /// All records of the round that was taken are on the disk.
    mutating func settled(_ standing: Standing, at now: MonotonicInstant) -> [Action] {
        guard phase == .settling else { return [] }
        if lacksBeginning(submitted) { isBehind = true }
        if let askedAt { lastTook = askedAt.duration(to: now) }
        return decide(submitted, standing, at: now)
    }

    /// An acknowledgement has been sent, and it is not known yet whether the bottle took it.
    var isVerifying: Bool { evidence.told != nil }

    /// Sips that a bottle may have recorded since the question was given to the link: one a second at the most, and one
    /// more.
    func sipsSince(_ now: MonotonicInstant) -> Int {
        let seconds = (askedAt ?? now).duration(to: now).components.seconds
        return 1 + Int(clamping: max(0, seconds))
    }

    mutating func acknowledgementLeft(at now: MonotonicInstant) -> [Action] {
        guard phase == .acknowledging else { return [] }
        if dumps < limits.dumps, taken < limits.records { return askOnceMore(at: now) }
        return finish(
            complete: false, "\(counted(taken, "record")) came in one poll and there may be more: the next poll goes on"
        )
    }

    mutating func acknowledgementRefused() -> [Action] {
        evidence.refused()
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
            if sendings < limits.sendings { return askAgain() }
            if hasRead {
                // It was read whole before, and all of it is stored.
                return finish(
                    complete: true,
                    isVerifying ? "the bottle did not say whether it took the last acknowledgement" : nil)
            }
            unanswered = true
            return finish(complete: false, "the bottle did not answer the question for its log")
        case .receiving:
            flaw("the log broke off")
            owesEnd = profile == .draft
            return settle()
        case .lingering:
            if profile == .draft { (isBehind, owesEnd) = (true, true) }
            return settle()
        case .quiet:
            guard !isWriting else {
                fallBehind(at: now)
                return []
            }
            isBehind = false
            return ask(at: now)
        case .idle, .reading, .settling, .acknowledging, .finished:
            return []
        }
    }
}
