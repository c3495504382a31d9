package import Gateway
package import TrackerCore

package struct ServiceStatus: Hashable, Sendable, Encodable {
    package var version: String
    /// The stage of the current poll (`scanning`, `connecting`, `polling`), `connected` while the connection is kept
    /// between polls, or `idle`.
    package var stage: String
    package var lastPoll: Instant?
    package var nextPoll: Instant?
    package var pollSentence: String?
    /// The last error of the current poll and the time of its next attempt, as text.
    package var trying: String?
    /// The number of records in the bottle's log when it was last read completely.
    package var storedRecords: Int?
    package var setupDone: Bool
    /// The bottles in range, strongest signal first; `nil` for a service that has a bottle.
    package var bottlesInRange: [BottleInRange]?
    /// The factor of simulated time, in demonstrations only.
    package var speed: Double?

    package init(
        version: String, stage: String = "idle", lastPoll: Instant? = nil, nextPoll: Instant? = nil,
        pollSentence: String? = nil, trying: String? = nil, storedRecords: Int? = nil,
        setupDone: Bool = true, speed: Double? = nil
    ) {
        self.speed = speed
        self.version = version
        self.stage = stage
        self.lastPoll = lastPoll
        self.nextPoll = nextPoll
        self.pollSentence = pollSentence
        self.trying = trying
        self.storedRecords = storedRecords
        self.setupDone = setupDone
    }

    /// Instants are whole seconds since 1970; unknown values are null.
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "version": version, "stage": stage, "isPolling": stage != "idle" && stage != "connected",
            "lastPoll": lastPoll?.wholeSeconds, "nextPoll": nextPoll?.wholeSeconds, "pollSentence": pollSentence,
            "trying": trying, "storedRecords": storedRecords, "setupDone": setupDone,
        ])
        if let bottlesInRange { try encoder.encode(["bottlesInRange": bottlesInRange]) }
        if let speed { try encoder.encode(["speed": speed]) }
    }
}

/// The actions of the polling service for the pages.
package struct ServiceClient: Sendable {
    /// A use of the data by a viewer. The service polls more often for viewers.
    package enum ViewerEvent: Sendable {
        /// A viewer starts to follow changes.
        case begins
        /// A viewer that followed changes has disconnected.
        case ends
        /// A viewer requests the data once.
        case once
    }

    package var status: @Sendable () async -> ServiceStatus
    /// Requests a poll as soon as possible.
    package var pollNow: @Sendable () async -> Void
    package var recentPolls: @Sendable () async -> [PollLine]
    /// Sends one command in the syntax of the CLI. Returns the bottle's response as text.
    package var send: @Sendable ([String]) async throws -> String
    /// Scans for bottles as soon as no poll is running. Returns the bottles in range.
    package var scan: @Sendable () async throws -> [BottleInRange] = { throw ServiceClient.cannotScan }
    /// Reads the log of a bottle in range, without storing or acknowledging records.
    package var readContents: @Sendable (_ address: String) async throws -> BottleContents = { _ in
        throw ServiceClient.cannotScan
    }
    package static let cannotScan = Refusal("noScan", "This service cannot scan for bottles.")
    package var reportViewer: @Sendable (ViewerEvent) async -> Void

    package init(
        status: @escaping @Sendable () async -> ServiceStatus, pollNow: @escaping @Sendable () async -> Void,
        recentPolls: @escaping @Sendable () async -> [PollLine],
        send: @escaping @Sendable ([String]) async throws -> String,
        reportViewer: @escaping @Sendable (ViewerEvent) async -> Void = { _ in }
    ) {
        self.status = status
        self.pollNow = pollNow
        self.recentPolls = recentPolls
        self.send = send
        self.reportViewer = reportViewer
    }
}

/// A completed poll in the list of recent polls.
package struct PollLine: Hashable, Sendable, Encodable {
    private let at: Instant
    private var report: PollReport
    /// The result as text.
    package let sentence: String
    private let seconds: Double

    package init(at: Instant, _ report: PollReport, sentence: String, seconds: Double) {
        (self.at, self.report, self.sentence, self.seconds) = (at, report, sentence, seconds)
        // The list of recent polls must not keep the contents of a bottle in memory.
        (self.report.records, self.report.recovery, self.report.responses) = ([], [], [])
    }

    /// The JSON has the code of the failure, or `done`, as the result.
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "at": at.wholeSeconds, "bottle": report.bottle, "result": report.failure?.kind.rawValue ?? "done",
            "sentence": sentence, "received": report.received, "new": report.new, "duplicates": report.duplicates,
            "suspect": report.suspect, "acknowledged": report.acknowledged, "seconds": seconds,
        ])
    }
}
