import BottleProtocol
import TrackerCore

/// Hands records and unreadable bytes to the journal and keeps account of what came back (promise 1): only what is in
/// `PollWork.journaled`, which the journal has as a record, may be acknowledged. Junk is kept too and proves nothing.
struct JournalKeeper {
    private enum Pending {
        case recall, adopt
        /// With what those of them are that are stored with a doubt, and what is lacking to dispel it.
        case append([JournalEntry], [[UInt8]: JournalEntry], PieceDoubts)
        /// Records that were stored with a doubt before.
        case confirm([JournalEntry])
        /// Bytes that are no record.
        case quarantine
        case unsettled(bottle: String, since: Int64?)
        /// What waits in the store since earlier polls.
        case waiting
        case clockSetting
        case likeness
        /// When it received each of these.
        case standing([[UInt8]])
        /// Records of the store that were looked at again.
        case again([JournalEntry])
    }

    private var pending: [Pending] = []
    private(set) var memory = BottleMemory()
    /// A log that was compared with those of known bottles, and what came of it, in their order.
    private(set) var compared: [[UInt8]] = []
    private(set) var likenesses: [LogLikeness] = []
    /// When the journal received each record of the last dump that it has, now.
    private(set) var standing: [[UInt8]: Instant] = [:]
    /// Records that the store has without a date since earlier polls: by which clock they were written may be known
    /// from there.
    private var waiting: [[UInt8]: UnsettledRecord] = [:]
    /// The journal said no; nothing is acknowledged from then on.
    private(set) var failure: String?
    /// Because the bottle is the journal's own no more.
    private(set) var isReleased = false
    /// What that is for who polls.
    var failureKind: PollFailure.Kind { isReleased ? .notOurs : .cannotStore }

    /// The bottle's clock may be set.
    private(set) var isClockSettingNoted = false

    /// Everything asked for has been answered.
    var isSettled: Bool { pending.isEmpty }
    /// End of this bottle's last complete poll.
    var lastPoll: Instant? { memory.lastCompletePoll }

    mutating func recall(_ names: BottleNames, _ work: inout PollWork) {
        pending.append(.recall)
        work.emit(.journal(.recall(names)))
    }

    /// The bottle has answered: from now on it is the journal's own.
    mutating func adopt(_ names: BottleNames, _ work: inout PollWork) {
        pending.append(.adopt)
        work.emit(.journal(.adopt(names)))
    }

    /// Compares a log with those of known bottles.
    mutating func recognise(_ log: [[UInt8]], _ bottles: [String], _ work: inout PollWork) {
        (compared, likenesses) = (log, [])
        for bottle in bottles {
            pending.append(.likeness)
            work.emit(.journal(.likeness(log: log, bottle: bottle)))
        }
    }

    /// Journals the records that this poll has not journaled yet, in the order in which the bottle sent them. Those
    /// with `doubts` are stored with a doubt, and as what they are once it is dispelled, in this poll or a later one.
    mutating func store(
        _ records: [[UInt8]], doubts: PieceDoubts = PieceDoubts(), bottle: String, _ work: inout PollWork
    ) {
        var dating = RecordDating(
            bottle: bottle, options: work.options, received: work.wall, lastPoll: lastPoll,
            clock: work.clock ?? .believed,
            drift: work.report.clockDriftSeconds, echoes: work.echoes(memory), years: work.yearTeller(memory),
            host: work.clockMark, isWitnessed: work.isClockWitnessed)
        var (entries, proven): ([JournalEntry], [JournalEntry]) = ([], [])
        var doubted: [[UInt8]: JournalEntry] = [:]
        dating.expect(records)
        for raw in records {
            var entry = dating.date(raw, row: waiting[raw])
            guard !work.journaled.contains(raw) else { continue }
            if work.unproven.contains(raw) {
                let isProven = doubts.areDispelled(of: raw, wasKnown: work.known.contains(raw))
                if isProven, !proven.contains(where: { $0.raw == raw }) { proven.append(entry) }
                continue
            }
            if doubted[raw] != nil { continue }
            work.report.received += 1
            if doubts.concern(raw) {
                doubted[raw] = entry
                entry.verdict = .quarantined(reason: JournalDoubt.pieced)
                entry.about = nil
            }
            entries.append(entry)
        }
        if !entries.isEmpty {
            pending.append(.append(entries, doubted, doubts))
            work.show(.storing)
            work.emit(.journal(.append(entries)))
        }
        confirm(proven, &work)
    }

    /// Asks what the journal has of a dump, after all of it was handed over.
    mutating func ask(standingOf records: [[UInt8]], bottle: String, _ work: inout PollWork) {
        standing = [:]
        guard !records.isEmpty else { return }
        pending.append(.standing(records))
        work.emit(.journal(.standing(records: records, bottle: bottle, isOwn: work.isAnswered)))
    }

    /// Whether an earlier poll that read the whole log has brought it: what came in one that never did says nothing of
    /// older records, which may have been lost in each of its dumps.
    func isFromWholeReading(_ raw: [UInt8]) -> Bool {
        guard let received = standing[raw], let lastPoll else { return false }
        return received <= lastPoll
    }

    /// What was stored with a doubt is proven.
    private mutating func confirm(_ entries: [JournalEntry], _ work: inout PollWork) {
        guard !entries.isEmpty else { return }
        work.unproven.subtract(entries.map(\.raw))
        pending.append(.confirm(entries))
        work.emit(.journal(.append(entries)))
    }

    /// Keeps bytes that are no record, up to the poll's limit; beyond, they are counted.
    mutating func quarantine(_ bytes: [UInt8], _ reason: String, bottle: String, _ work: inout PollWork) {
        work.report.quarantined += 1
        guard work.report.quarantined <= work.limits.quarantined else { return }
        pending.append(.quarantine)
        work.emit(.journal(.quarantine(bottle: bottle, bytes: bytes, reason: reason, received: work.wall)))
    }

    /// Looks again at what the store has of this bottle without a date, or read in another way (tracker law A2, rule
    /// 4). Where a clock has been set since, also at what was dated by it.
    mutating func lookAgain(bottle: String, _ work: inout PollWork) {
        let settings = memory.clockSettings.filter { !$0.wasNear }
        let first = settings.first?.lastRecord
        let step = memory.receiptClock?.step(to: work.clockMark).map { abs($0) > HostClock.tolerance }
        // A poll by another clock that broke off leaves no receipt, and perhaps dates.
        let isMeasurable = settings.contains { $0.mark.step(to: work.clockMark) != nil }
        let isSet =
            work.clock == .bottleIsWrong || step == true || isMeasurable || work.options.trustsClock
            || work.clockMark.isSynchronized == true
        lookAgain(bottle: bottle, since: isSet ? first : nil, after: 0, &work)
    }

    private mutating func lookAgain(bottle: String, since: Int64?, after id: Int64, _ work: inout PollWork) {
        pending.append(.unsettled(bottle: bottle, since: since))
        let years = work.yearTeller(memory)
        work.emit(
            .journal(
                .unsettled(
                    bottle: bottle, reading: work.options.reading, since: since, openYears: years.isAgreed,
                    ahead: work.aheadLimit, after: id, limit: SecondLook.page)))
    }

    private mutating func askWaiting(after id: Int64, _ work: inout PollWork) {
        pending.append(.waiting)
        work.emit(
            .journal(
                .unsettled(
                    bottle: work.bottle, reading: work.options.reading, since: nil, openYears: true, ahead: nil,
                    after: id, limit: SecondLook.page)))
    }

    /// To be answered before the bottle's clock is set.
    mutating func noteClockSetting(bottle: String, _ work: inout PollWork) {
        pending.append(.clockSetting)
        let drift = work.report.clockDriftSeconds.map { $0 - HostClock.zoneShift($0, work.clockMark, memory) }
        let wasNear = drift.map { Double($0.magnitude) <= HostClock.tolerance } ?? false
        work.emit(.journal(.noteClockSetting(bottle: bottle, work.clockMark, wasNear: wasNear)))
    }

    mutating func take(_ reply: JournalReply, _ work: inout PollWork) {
        guard !pending.isEmpty else { return }
        switch (pending.removeFirst(), reply) {
        case (.recall, .recalled(let memory)):
            self.memory = memory
            askWaiting(after: 0, &work)
        case (.waiting, .unsettled(let rows)):
            for row in rows where row.doubt != nil { waiting[row.raw] = row }
            if rows.count == SecondLook.page, let last = rows.last { askWaiting(after: last.id, &work) }
        case (.adopt, .adopted):
            break
        case (.likeness, .likeness(let likeness)):
            likenesses.append(likeness)
        case (.standing(let records), .standing(let received)) where received.count == records.count:
            for (raw, received) in zip(records, received) { standing[raw] = received }
        case (.append(let entries, let doubted, let doubts), .appended(let outcomes))
        where outcomes.count == entries.count:
            count(entries, outcomes, &work)
            note(entries, outcomes, &work)
            work.journaled.formUnion(entries.map(\.raw).filter { doubted[$0] == nil })
            work.emit(.journaled(entries, outcomes))
            work.unproven.formUnion(doubted.keys)
            // What counts already needs no proof; what an earlier poll has brought has come again by that.
            let proven = zip(entries, outcomes).filter { entry, outcome in
                outcome == .duplicate || doubts.areDispelled(of: entry.raw, wasKnown: work.known.contains(entry.raw))
            }
            confirm(proven.compactMap { doubted[$0.0.raw] }, &work)
        case (.confirm(let entries), .appended(let outcomes)) where outcomes.count == entries.count:
            work.journaled.formUnion(entries.map(\.raw))
            work.report.suspect -= outcomes.count { $0 == .promoted }
            work.emit(.journaled(entries, outcomes))
        case (.quarantine, .quarantined):
            break
        case (.clockSetting, .clockSettingNoted):
            isClockSettingNoted = true
        case (.clockSetting, .failed(let sentence)):
            work.say(.warning, "The bottle's clock is not set: that could not be noted first (\(sentence)).")
        case (.unsettled(let bottle, let since), .unsettled(let rows)):
            let tellsYear =
                work.options.trustsClock
                || HostClock.tellsYear(work.clockMark, drift: work.report.clockDriftSeconds, memory)
            let dating = RecordDating(
                bottle: bottle, options: work.options, received: work.wall, echoes: work.echoes(memory),
                tellsYear: tellsYear, years: work.yearTeller(memory))
            let entries = SecondLook.entries(rows, dating)
            if !entries.isEmpty {
                pending.append(.again(entries))
                work.emit(.journal(.append(entries)))
            }
            if rows.count == SecondLook.page, let last = rows.last {
                lookAgain(bottle: bottle, since: since, after: last.id, &work)
            }
        case (.again(let entries), .appended(let outcomes)) where outcomes.count == entries.count:
            work.report.resolved += outcomes.filter { $0 == .promoted }.count
            SecondLook.tell(zip(entries, outcomes).count { $0.isWithdrawn && $1 == .waiting }, &work)
            work.emit(.journaled(entries, outcomes))
        case (_, .released(let sentence)):
            (failure, isReleased) = (failure ?? sentence, true)
        case (_, .failed(let sentence)):
            failure = failure ?? sentence
        default:
            failure = failure ?? "the journal answered another question than was asked"
        }
    }

    /// Which of them the journal had before this poll. A record twice in one batch is a duplicate of itself.
    private func note(_ entries: [JournalEntry], _ outcomes: [JournalOutcome], _ work: inout PollWork) {
        let fresh = Set(zip(entries, outcomes).filter { $0.1 == .stored }.map(\.0.raw))
        work.known.formUnion(entries.map(\.raw).filter { !fresh.contains($0) })
        work.settled.formUnion(
            zip(entries, outcomes).filter { $0.1 == .duplicate && !fresh.contains($0.0.raw) }.map(\.0.raw))
    }

    private func count(_ entries: [JournalEntry], _ outcomes: [JournalOutcome], _ work: inout PollWork) {
        for (entry, outcome) in zip(entries, outcomes) {
            switch outcome {
            case .stored, .promoted: work.report.new += 1
            case .duplicate, .waiting: work.report.duplicates += 1
            }
            // What is stored with a date keeps it, whatever this poll makes of the record.
            if case .quarantined = entry.verdict, outcome != .duplicate { work.report.suspect += 1 }
        }
    }
}
