import TrackerCore

package struct ServiceStatus: Hashable, Sendable, Encodable {
    package var version: String
    /// `idle`, `connected` if the connection is kept, or the poll's stage `scanning`, `connecting`, `polling`.
    package var stage: String
    package var lastPoll: Instant?
    package var nextPoll: Instant?
    package var pollSentence: String?
    /// The last error of the current poll, and its next attempt.
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
        pollSentence: String? = nil,
        trying: String? = nil, storedRecords: Int? = nil,
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
    /// A viewer's use of the day's data, which the service then keeps up to date.
    package enum ViewerEvent: Sendable {
        /// A viewer begins to follow changes.
        case begins
        case ends
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
    /// Reads the log of a bottle in range and stores nothing.
    package var lookInside: @Sendable (_ address: String) async throws -> BottleContents = { _ in
        throw ServiceClient.cannotScan
    }
    package static let cannotScan = Refusal("noScan", "This service cannot scan for bottles.")
    /// Reports a viewer to the service.
    package var look: @Sendable (ViewerEvent) async -> Void

    package init(
        status: @escaping @Sendable () async -> ServiceStatus, pollNow: @escaping @Sendable () async -> Void,
        recentPolls: @escaping @Sendable () async -> [PollLine],
        send: @escaping @Sendable ([String]) async throws -> String,
        look: @escaping @Sendable (ViewerEvent) async -> Void = { _ in }
    ) {
        self.status = status
        self.pollNow = pollNow
        self.recentPolls = recentPolls
        self.send = send
        self.look = look
    }
}

package struct PollLine: Hashable, Sendable, Encodable {
    package var at: Instant
    /// The result: `done`, or the failure's code.
    package var bottle: String?
    /// `done`, or the failure's code.
    package var result: String
    package var sentence: String
    package var received: Int
    package var new: Int
    package var duplicates: Int
    package var suspect: Int
    package var acknowledged: Int
    package var seconds: Double

    package init(
        at: Instant, bottle: String?, result: String, sentence: String, received: Int, new: Int, duplicates: Int,
        suspect: Int,
        acknowledged: Int, seconds: Double
    ) {
        self.at = at
        self.bottle = bottle
        self.result = result
        self.sentence = sentence
        self.received = received
        self.new = new
        self.duplicates = duplicates
        self.suspect = suspect
        self.acknowledged = acknowledged
        self.seconds = seconds
    }

    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "at": at.wholeSeconds, "bottle": bottle, "result": result, "sentence": sentence, "received": received,
            "new": new, "duplicates": duplicates, "suspect": suspect, "acknowledged": acknowledged,
            "seconds": seconds,
        ])
    }
}
