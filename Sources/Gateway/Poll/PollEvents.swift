import BottleProtocol
import Bluetooth
import TrackerCore

/// An input of `Poll`.
package enum PollEvent: Hashable, Sendable {
    /// The first event, exactly once.
    case start
    case link(CentralEvent)
    /// Response to `PollEffect.askTodayTotal`: today's total in ml, `nil` if there is none.
    case todayTotal(Int?)
    /// Response to `PollEffect.askLight`: the light to show from now on, `nil` if the bottle shows it already.
    case light(BottleLight?)
    /// `nextDeadline` has passed. An extra tick has no effect.
    case tick
    /// The user or the system stops the poll: disconnect, store what was received, acknowledge nothing more.
    case cancel
}

/// An output of `Poll`. Effects are executed in order.
package enum PollEffect: Hashable, Sendable {
    case link(CentralRequest)
    /// Answered by `PollEvent.todayTotal`.
    case askTodayTotal
    /// Answered by `PollEvent.light`: the log is read, and there is time to set the bottle's light.
    case askLight(bottle: String)
    /// A light was written. It must be stored, because each write makes the bottle blink.
    case lit(bottle: String, BottleLight)
    /// Entries that were appended to the journal, each with its outcome: for live views and reminders.
    case journaled([JournalEntry], [JournalOutcome])
    /// An unsolicited report frame, outside a log transfer or within one.
    case report
    case diagnostic(Diagnostic)
    case progress(PollProgress)
    /// The last effect.
    case done(PollReport)
}

/// A message for the user, with its severity.
package struct Diagnostic: Hashable, Sendable {
    package enum Severity: Hashable, Sendable { case info, warning }

    package var severity: Severity
    /// The problem in one sentence, with the remedy if there is one.
    package var sentence: String
    /// The code by which interfaces choose their advice; `nil` if there is none.
    package var code: String?

    package init(_ severity: Severity, _ sentence: String, code: String? = nil) {
        self.severity = severity
        self.sentence = sentence
        self.code = code
    }
}

package struct PollProgress: Hashable, Sendable {
    /// The states of tracker spec A8, and `storing`.
    package enum Stage: String, Hashable, Sendable {
        case scanning, connecting, connected, polling, storing, disconnecting
    }

    package var stage: Stage
    /// Records received so far in this poll.
    package var records: Int
    /// The running log transfer.
    package var transfer: Transfer?

    /// The progress of a log transfer, in records.
    package struct Transfer: Hashable, Sendable {
        package var received: Int
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
