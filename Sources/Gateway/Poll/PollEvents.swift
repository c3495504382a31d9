package import Bluetooth
import BottleProtocol
package import TrackerCore

/// An input of `Poll`.
package enum PollEvent: Hashable, Sendable {
    /// Starts the poll. This is the first event, and occurs once.
    case start
    case link(CentralEvent)
    /// The time `nextDeadline` has passed. An extra tick has no effect.
    case tick
    /// Stops the poll: it stores the received data, disconnects and acknowledges nothing more.
    case cancel
}

/// An output of `Poll`. Effects are executed in order.
package enum PollEffect: Hashable, Sendable {
    case link(CentralRequest)
    /// Reports that a light was written. The caller must store it, so that it is not written again.
    case lightWritten(bottle: String, BottleLight)
    /// Reports the entries that were appended to the journal, each with its outcome.
    case journaled([JournalEntry], [JournalOutcome])
    /// Reports a frame that the bottle sent without a request.
    case bottleReported
    case diagnostic(Diagnostic)
    case progress(PollProgress)
    case done(PollReport)
}

/// A message for the user, with its severity.
package struct Diagnostic: Hashable, Sendable {
    package enum Severity: Hashable, Sendable { case info, warning }

    package var severity: Severity
    /// The problem in one sentence, with its remedy if there is one.
    package var sentence: String
    /// The code by which interfaces choose their advice; `nil` if there is none.
    package var code: String?

    package init(_ severity: Severity, _ sentence: String, code: String? = nil) {
        self.severity = severity
        self.sentence = sentence
        self.code = code
    }
}

/// The state of a running poll, for display.
package struct PollProgress: Hashable, Sendable {
    /// The states of tracker spec A8, and `storing`.
    package enum Stage: String, Hashable, Sendable {
        case scanning, connecting, connected, polling, storing, disconnecting
    }

    package var stage: Stage
    package var records: Int
    package var transfer: Transfer?

    /// The progress of a log transfer, in bytes.
    package struct Transfer: Hashable, Sendable {
        package var received: Int
        package var announced: Int
    }
}
