import BottleProtocol
import Bluetooth
import TrackerCore

/// Everything that can happen to a `Poll`.
package enum PollEvent: Hashable, Sendable {
    /// Begin. Exactly once, first.
    case start
    /// Something happened on the link.
    case link(CentralEvent)
    /// Answer to `PollEffect.askTodayTotal`: today's total in ml, `nil` if there is none.
    case todayTotal(Int?)
    /// Answer to `PollEffect.askLight`: what the bottle's light is to show from now on, `nil` where it shows it
    /// already.
    case light(BottleLight?)
    /// `nextDeadline` has come (or not: a tick too many does no harm).
    case tick
    /// A person or the system wants us to stop: disconnect cleanly, keep what was received, acknowledge nothing more.
    case cancel
}

/// Everything that a `Poll` wants done. To be performed in order.
package enum PollEffect: Hashable, Sendable {
    case link(CentralRequest)
    /// Answered by `PollEvent.todayTotal`.
    case askTodayTotal
    /// Answered by `PollEvent.light`: the log is read, and there is time for the bottle's light.
    case askLight(bottle: String)
    /// A light was written. To be stored, because each write makes the bottle blink.
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

/// A sentence for people, and how much it matters.
package struct Diagnostic: Hashable, Sendable {
    /// How much a line matters.
    package enum Severity: String, Hashable, Sendable, Comparable {
        /// What is being done.
        case info
        /// Something is wrong, and the poll continues.
        case warning

        package static func < (left: Severity, right: Severity) -> Bool { left == .info && right == .warning }
    }

    /// How much it matters.
    package var severity: Severity
    /// What is so, and what can be done about it.
    package var sentence: String
    /// Interfaces choose their advice by it; `nil`: none.
    package var code: String?

    package init(_ severity: Severity, _ sentence: String, code: String? = nil) {
        self.severity = severity
        self.sentence = sentence
        self.code = code
    }
}

/// The progress of a poll.
package struct PollProgress: Hashable, Sendable {
    /// The states of tracker spec A8, and `storing`.
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
