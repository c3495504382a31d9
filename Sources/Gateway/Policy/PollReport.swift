import BottleProtocol
import Bluetooth
import TrackerCore

/// What a poll came to. Also when it failed: what was received until then counts.
///
/// Its figures add up, however the poll ended:
/// - each record counts once in `received`, however often the link brought it in this poll, and is one of `new`,
///   `duplicates`, or, where the journal failed, neither: `new + duplicates <= received`, with equality when nothing
///   failed to be stored;
/// - `suspect <= new + duplicates`;
/// - `acknowledged + unconfirmed <= new + duplicates`: only what the journal has is acknowledged;
/// - `acknowledged` counts acknowledged records that the bottle no longer has;
/// - `complete` is never true of a poll in which no log was read to its end.
package struct PollReport: Hashable, Sendable {
    /// What the bottle is called: its alias, or else its identity. `nil`: none was met.
    package var bottle: String?
    /// The bottle's identity, under which its records are kept: its address, its serial number, or a substitute.
    package var identity: String?
    /// The store had no bottle before; this one is its own from now on.
    package var isAdopted = false
    /// The bottles that a scan found (`PollOptions.Job.scan`).
    package var inRange: [Advertisement] = []
    /// The name that the bottle showed on the air.
    package var name: String?
    /// The profile it was talked to by.
    package var profile: BottleProfile?
    /// What it is, as far as it is known.
    package var model: BottleModel?
    /// What it said of itself, where it was asked.
    package var snapshot: Snapshot?
    /// Signal strength before the connection, dBm; `nil`: unknown.
    package var rssi: Int?
    /// Charge of its battery, 0–100, from its snapshot or its reports.
    package var batteryPercent: Int?
    /// Bottle's clock minus ours, in seconds.
    package var clockDriftSeconds: Int?
    /// Drink records delivered, repeats included.
    package var received = 0
    /// Of those, stored for the first time (or dated for the first time).
    package var new = 0
    /// Of those, known before.
    package var duplicates = 0
    /// Of those, kept but not counted because their date cannot be trusted.
    package var suspect = 0
    /// Records of earlier polls that have got a date now.
    package var resolved = 0
    /// Pieces of bytes that could not be understood; kept, with the reason, as far as the limit allows.
    package var quarantined = 0
    /// Acknowledged records that a later reading no longer brought.
    package var acknowledged = 0
    /// Acknowledged records that no later reading could verify, because the connection or the poll ended.
    package var unconfirmed = 0
    /// The whole log was read.
    package var complete = false
    /// Records that the bottle held when its log was last read to the end; `nil`: it was not.
    package var storedRecords: Int?
    /// The connection was kept (`PollOptions.keepsConnection`).
    package var isConnected = false
    /// From start to end.
    package var duration = Duration.zero
    /// When it was over, by the host's clock; `nil` while it runs.
    package var endedAt: Instant?
    /// Rungs of the recovery ladder that were climbed.
    package var recovery: [RecoveryStep] = []
    /// Answers to the commands of `Job.send`, in order.
    package var answers: [CommandAnswer] = []
    /// Why it did not do all it should; `nil`: it did.
    package var failure: PollFailure?
    /// For the next poll.
    package var history = PollHistory()

    /// - Parameter failure: what ended the poll before it began.
    package init(failure: PollFailure? = nil) { self.failure = failure }
}

/// What came back for a command that was sent.
package struct CommandAnswer: Hashable, Sendable {
    /// What was sent.
    package var command: HostCommand
    /// The frame that answered; `nil` where none came (some commands have no answer).
    package var answer: Frame?
    /// Whether the command could be written at all.
    package var sent: Bool

    package init(command: HostCommand, answer: Frame? = nil, sent: Bool) {
        self.command = command
        self.answer = answer
        self.sent = sent
    }
}

/// Why a poll did not do all it should: what, why, what to try.
package struct PollFailure: Problem, Hashable {
    /// The conditions of tracker spec A8, and those that a journal adds.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case notFound, bluetoothOff, permissionDenied, noAdapter, connectFailed, unexpectedResponse, didNotAnswer
        case connectionLost, cannotStore, interrupted
        /// Another bottle than the store's; and a clock that cannot be right.
        case notOurs, clockDoubtful

        /// The words of tracker spec A8.
        package var text: String {
            switch self {
            case .notFound: "Bottle not found"
            case .bluetoothOff: "Bluetooth is off"
            case .permissionDenied: "Bluetooth permission denied"
            case .noAdapter: "No Bluetooth adapter"
            case .connectFailed: "Failed to connect"
            case .unexpectedResponse: "Unexpected bottle response"
            case .didNotAnswer: "Bottle did not answer"
            case .connectionLost: "Connection lost"
            case .cannotStore: "Cannot store"
            case .interrupted: "Interrupted"
            case .notOurs: "Not this store's bottle"
            case .clockDoubtful: "The clocks disagree"
            }
        }

        /// The problem to show until a poll succeeds; `nil` if the failure is not about the connection.
        func problem(_ sentence: String) -> ConnectionProblem? {
            switch self {
            case .interrupted, .cannotStore: nil
            default: ConnectionProblem(code: rawValue, message: sentence)
            }
        }

        /// Whether no bottle was connected.
        package var isAbsence: Bool {
            switch self {
            case .notFound, .bluetoothOff, .permissionDenied, .noAdapter, .connectFailed: true
            default: false
            }
        }
    }

    /// What kind of failure it is.
    package var kind: Kind
    /// What came back: one sentence.
    package var sentence: String
    /// The kind, or a special case of it. Interfaces choose their advice by it.
    package var code: String
    /// `link` and `hasRadio` say over which way; others what the sentence speaks of.
    package var values: [String: String]

    /// What the caller can do about it.
    package var category: ProblemCategory {
        switch kind {
        case .notFound: .notFound
        case .notOurs, .clockDoubtful: .refused
        default: .failed
        }
    }

    /// - Parameter linkError: the link's own code, where it was the link that failed.
    package init(
        _ kind: Kind, _ sentence: String, code: String? = nil, linkError: LinkError.Code? = nil,
        values: [String: String] = [:]
    ) {
        self.kind = kind
        self.sentence = sentence
        self.code = code ?? kind.rawValue
        self.values = values
        self.values["linkError"] = linkError?.rawValue
    }
}

extension PollReport {
    /// What this poll says of the way to the bottle: a problem, that there is none (`.some(nil)`), or nothing.
    package var connection: ConnectionProblem?? {
        guard let failure else { return .some(nil) }
        return failure.kind.problem(failure.sentence).map { .some($0) }
    }
}

extension PollFailure {
    /// The kind's words, then the sentence.
    package var description: String { "\(kind.text): \(sentence)" }
}
