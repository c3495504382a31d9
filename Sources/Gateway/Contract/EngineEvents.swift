import BottleProtocol
import Bluetooth
import TrackerCore

/// Everything that can happen to a `GatewayEngine`.
package enum EngineEvent: Hashable, Sendable {
    /// Begin. Exactly once, first.
    case start
    /// Something happened on the link.
    case link(CentralEvent)
    /// The journal's answer to the oldest unanswered `EngineEffect.journal`.
    case journal(JournalReply)
    /// Answer to `EngineEffect.askTodayTotal`: ml counted today, `nil` where nobody keeps a tally.
    case todayTotal(Int?)
    /// Answer to `EngineEffect.askLight`: what the bottle's light is to show from now on, `nil` where it shows it
    /// already.
    case light(BottleLight?)
    /// `nextDeadline` has come (or not: a tick too many does no harm).
    case tick
    /// A person or the system wants us to stop: disconnect cleanly, keep what was received, acknowledge nothing more.
    case cancel
}

/// Everything that a `GatewayEngine` wants done. To be performed in order.
package enum EngineEffect: Hashable, Sendable {
    case link(CentralRequest)
    /// Answered by exactly one `EngineEvent.journal`, in order.
    case journal(JournalRequest)
    /// Answered by `EngineEvent.todayTotal`.
    case askTodayTotal
    /// Answered by `EngineEvent.light`: the log is read, and there is time for the bottle's light.
    case askLight(bottle: String)
    /// The bottle was told: to be remembered, because each writing makes it blink.
    case lit(bottle: String, BottleLight)
    /// Entries that the journal has just taken, with what became of each: for live views and reminders.
    case journaled([JournalEntry], [JournalOutcome])
    /// The bottle said something unasked: a report frame, outside a log transfer or in the middle of one.
    case report(Frame)
    /// A sentence for people.
    case diagnostic(Diagnostic)
    case progress(PollProgress)
    /// The poll is over; nothing comes after this.
    case done(PollReport)
}

/// What the engine asks of the journal: the methods of `Journal`, by name. Each is answered once, in order.
package enum JournalRequest: Hashable, Sendable {
    case recall(BottleNames)
    case adopt(BottleNames)
    case append([JournalEntry])
    case quarantine(bottle: String, bytes: [UInt8], reason: String, received: Instant)
    case unsettled(
        bottle: String, reading: String, since: Int64?, openYears: Bool, ahead: Instant?, after: Int64, limit: Int)
    case noteClockSetting(bottle: String, ClockMark, wasNear: Bool)
    case likeness(log: [[UInt8]], bottle: String)
    /// - Parameter isOwn: the bottle has to be the journal's own still.
    case standing(records: [[UInt8]], bottle: String, isOwn: Bool)
    case finishPoll(PollRecord)
}

/// What the journal answers: of each request its own case, or that it failed.
package enum JournalReply: Hashable, Sendable {
    case recalled(BottleMemory)
    case adopted
    case appended([JournalOutcome])
    case quarantined
    case unsettled([UnsettledRecord])
    case clockSettingNoted
    case likeness(LogLikeness)
    case standing([Instant?])
    case finished
    /// A person has let the bottle go since the poll began. The sentence says so.
    case released(String)
    /// The request failed; none of it is stored. The sentence says why.
    case failed(String)
}

extension Journal {
    /// Performs an engine's request.
    package func answer(_ request: JournalRequest) -> JournalReply {
        do {
            switch request {
            case .recall(let names): return .recalled(try recall(names))
            case .adopt(let names):
                try adopt(names)
                return .adopted
            case .append(let entries): return .appended(try append(entries))
            case .quarantine(let bottle, let bytes, let reason, let received):
                try quarantine(bottle: bottle, bytes: bytes, reason: reason, received: received)
                return .quarantined
            case .unsettled(let bottle, let reading, let since, let openYears, let ahead, let id, let limit):
                return .unsettled(
                    try unsettled(
                        of: bottle, reading: reading, since: since, openYears: openYears, ahead: ahead, after: id,
                        limit: limit))
            case .noteClockSetting(let bottle, let mark, let wasNear):
                try noteClockSetting(of: bottle, mark, wasNear: wasNear)
                return .clockSettingNoted
            case .likeness(let log, let bottle): return .likeness(try likeness(of: log, to: bottle))
            case .standing(let records, let bottle, let isOwn):
                guard try !isOwn || self.isOwn(bottle) else { throw ReleasedBottle(bottle) }
                return .standing(try standing(of: records, from: bottle))
            case .finishPoll(let record):
                try finishPoll(record)
                return .finished
            }
        } catch let released as ReleasedBottle {
            return .released("\(released)")
        } catch {
            return .failed("\(error)")
        }
    }
}

/// A sentence for people, and how much it matters.
package struct Diagnostic: Hashable, Sendable {
    /// How much a line matters.
    package enum Severity: String, Hashable, Sendable, Comparable {
        /// What is being done.
        case info
        /// Worth knowing: something is not as it should be, and the poll goes on.
        case warning

        package static func < (left: Severity, right: Severity) -> Bool { left == .info && right == .warning }
    }

    /// How much it matters.
    package var severity: Severity
    /// What is so, and what can be done about it.
    package var sentence: String
    /// Where something particular can be done about it: the surface says what.
    package var code: String?

    package init(_ severity: Severity, _ sentence: String, code: String? = nil) {
        self.severity = severity
        self.sentence = sentence
        self.code = code
    }
}

/// Where a poll stands, for a progress line.
package struct PollProgress: Hashable, Sendable {
    /// The states of tracker law A8, and `storing`.
    package enum Stage: String, Hashable, Sendable {
        case scanning, connecting, connected, polling, storing, disconnecting
    }

    /// What is under way.
    package var stage: Stage
    /// Records received so far in this poll.
    package var records: Int
    /// Bytes of the running log transfer that have arrived, and that its header announced.
    package var transfer: Transfer?

    /// How far a log has come over, in records.
    package struct Transfer: Hashable, Sendable {
        /// Records that came, each counted once.
        package var received: Int
        /// Records that the bottle said would come.
        package var announced: Int
        package init(received: Int, announced: Int) {
            self.received = received
            self.announced = announced
        }
    }

    package init(stage: Stage, records: Int, transfer: Transfer? = nil) {
        self.stage = stage
        self.records = records
        self.transfer = transfer
    }
}
