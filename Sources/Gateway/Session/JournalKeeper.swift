import BottleProtocol
import TrackerCore

/// Hands records and unreadable bytes to the journal and keeps account of what came back (promise 1): only what is in
/// `PollWork.journaled` may be acknowledged.
struct JournalKeeper {
    private enum Pending {
        case lastPoll
        case append([JournalEntry])
        /// Bytes of a record that the dialect refused, or of anything else.
        case quarantine([UInt8])
    }

    private var pending: [Pending] = []
    private(set) var lastPoll: Instant?
    /// The journal said no; nothing is acknowledged from then on.
    private(set) var failure: String?

    /// Everything asked for has been answered.
    var isSettled: Bool { pending.isEmpty }

    mutating func recall(bottle: String, _ work: inout PollWork) {
        pending.append(.lastPoll)
        work.emit(.journal(.lastCompletePoll(bottle: bottle)))
    }

    /// Journals the records that this poll has not journaled yet, in the order in which the bottle sent them.
    mutating func store(_ records: [[UInt8]], bottle: String, _ work: inout PollWork) {
        var dating = RecordDating(bottle: bottle, options: work.options, received: work.wall, lastPoll: lastPoll)
        var entries: [JournalEntry] = []
        for raw in records {
            let outcome = dating.date(raw)
            guard !work.journaled.contains(raw) else { continue }
            work.report.received += 1
            switch outcome {
            case .entry(let entry): entries.append(entry)
            case .refused(let reason): keep(raw, "a record that the \(work.options.dialect.rawValue) dialect refuses: \(reason)", bottle, &work)
            }
        }
        guard !entries.isEmpty else { return }
        pending.append(.append(entries))
        work.show(.storing)
        work.emit(.journal(.append(entries)))
    }

    /// Keeps bytes that nobody understood, up to the poll's limit; beyond, they are counted.
    mutating func quarantine(_ bytes: [UInt8], _ reason: String, bottle: String, _ work: inout PollWork) {
        guard work.report.quarantined < work.limits.quarantined else {
            work.report.quarantined += 1
            return
        }
        keep(bytes, reason, bottle, &work)
    }

    private mutating func keep(_ bytes: [UInt8], _ reason: String, _ bottle: String, _ work: inout PollWork) {
        work.report.quarantined += 1
        pending.append(.quarantine(bytes))
        work.emit(.journal(.quarantine(bottle: bottle, bytes: bytes, reason: reason, received: work.wall)))
    }

    mutating func take(_ reply: JournalReply, _ work: inout PollWork) {
        guard !pending.isEmpty else { return }
        switch (pending.removeFirst(), reply) {
        case (.lastPoll, .lastCompletePoll(let instant)):
            lastPoll = instant
        case (.append(let entries), .appended(let outcomes)) where outcomes.count == entries.count:
            count(entries, outcomes, &work)
            note(entries, outcomes, &work)
            work.journaled.formUnion(entries.map(\.raw))
            work.emit(.journaled(entries, outcomes))
        case (.quarantine(let bytes), .quarantined):
            work.journaled.insert(bytes)
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
    }

    private func count(_ entries: [JournalEntry], _ outcomes: [JournalOutcome], _ work: inout PollWork) {
        for (entry, outcome) in zip(entries, outcomes) {
            switch outcome {
            case .stored, .promoted: work.report.new += 1
            case .duplicate: work.report.duplicates += 1
            }
            if case .quarantined = entry.verdict { work.report.suspect += 1 }
        }
    }
}
