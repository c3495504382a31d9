package import Bluetooth
package import BottleProtocol
package import TrackerCore

/// The result of a poll. A failed poll reports what was received before the failure.
///
/// Its numbers are consistent for complete and failed polls:
/// - each record counts once in `received`, regardless of repeated delivery; `new + duplicates <= received`, with
///   equality when every record was stored;
/// - `suspect <= new + duplicates`;
/// - `acknowledged + unconfirmed <= new + duplicates`: only stored records are acknowledged;
/// - `acknowledged` counts acknowledged records that the bottle no longer has;
/// - `complete` is `false` if no log was read to its end.
package struct PollReport: Hashable, Sendable {
    package var bottle: String?
    /// The bottle's identity, under which its records are kept: its address, its serial number, or a substitute.
    package var identity: String?
    /// Whether the store had no bottle before this poll and has adopted this one.
    package var isAdopted = false
    package var inRange: [Advertisement] = []
    package var name: String?
    package var profile: BottleProfile?
    package var model: BottleModel?
    package var snapshot: Snapshot?
    /// The signal strength before the connection in dBm; `nil` if unknown.
    package var rssi: Int?
    package var batteryPercent: Int?
    /// The bottle's clock minus the host's, in seconds.
    package var clockDriftSeconds: Int?
    /// The number of different drink records that the bottle sent in this poll.
    package var received = 0
    /// The number of received records that are new in the store, or that now have a date for the first time.
    package var new = 0
    /// The number of received records that were stored before.
    package var duplicates = 0
    /// The number of quarantined records: stored, but not counted, because their date is not reliable.
    package var suspect = 0
    /// The number of records of earlier polls that have now been dated.
    package var resolved = 0
    /// The number of byte sequences that could not be decoded. `PollLimits.undecodable` of them are stored.
    package var undecodable = 0
    /// The number of acknowledged records that a later reading no longer contained.
    package var acknowledged = 0
    /// The number of acknowledged records that no later reading verified, because the connection was lost.
    package var unconfirmed = 0
    package var complete = false
    /// The number of records in the bottle when its log was last read to the end; `nil` if it was not.
    package var storedRecords: Int?
    /// Whether the connection was kept (`PollOptions.keepsConnection`).
    package var isConnected = false
    package var duration = Duration.zero
    package var recovery: [RecoveryStep] = []
    /// The records that `Job.inspect` read.
    package var records: [JournalEntry] = []
    /// Responses to the commands of `Job.send`, in order.
    package var responses: [CommandResponse] = []
    /// The reason why the poll is incomplete; `nil` if it is complete.
    package var failure: PollFailure?
    package var history = PollHistory()

    /// A difference of clocks for display, such as `3 min slow`.
    package static func driftText(_ drift: Int) -> String {
        let seconds = drift.magnitude
        let size =
            switch seconds {
            case ..<120: "\(seconds) s"
            case ..<7_200: "\(seconds / 60) min"
            case ..<172_800: "\(seconds / 3600) h"
            default: "\(seconds / 86_400) d \(seconds % 86_400 / 3600) h"
            }
        return size + (drift < 0 ? " slow" : " fast")
    }

    /// - Parameter failure: the error that ended the poll before it started.
    package init(failure: PollFailure? = nil) { self.failure = failure }
}

/// A command of `Job.send` with the bottle's response.
package struct CommandResponse: Hashable, Sendable {
    package var command: HostCommand
    /// The response; `nil` if none was received. Some commands have none.
    package var frame: Frame?
    package var sent: Bool

    package init(command: HostCommand, frame: Frame? = nil, sent: Bool) {
        self.command = command
        self.frame = frame
        self.sent = sent
    }
}

/// The reason why a poll is incomplete, with its cause and advice.
package struct PollFailure: Problem, Hashable {
    package typealias Kind = ConnectionProblem.Kind

    package var kind: Kind
    /// The cause: one sentence.
    package var sentence: String
    /// The kind, or a special case of it, by which interfaces choose their advice.
    package var code: String
    /// The keys `link` and `hasRadio` describe the link. Other keys have the values that the sentence contains.
    package var values: [String: String]

    package var category: ProblemCategory {
        switch kind {
        case .notFound: .notFound
        case .notOwned, .clockNotTrusted: .refused
        default: .failed
        }
    }

    /// - Parameter linkError: the link's own error, if the link failed.
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
    /// The poll's effect on the connection problem: a new problem, its end (`.some(nil)`), or no change (`nil`) if the
    /// failure does not concern the connection.
    package var connection: ConnectionProblem?? {
        guard let failure else { return .some(nil) }
        return ConnectionProblem(code: failure.kind.rawValue, message: failure.sentence).map { .some($0) }
    }
}

extension PollFailure {
    /// The kind as text. If only bluetoothd is unreachable, the adapter is not called missing.
    package var headline: String {
        values["linkError"] == LinkError.Code.serviceLost.rawValue ? "Bluetooth not available" : kind.text
    }
    package var description: String { "\(headline): \(sentence)" }
}
