import TrackerCore

/// How the polling stands, right now.
package struct ServiceStatus: Hashable, Sendable, Encodable {
    /// The program's version.
    package var version: String
    /// `idle`, `connected` where the bottle's connection is kept, or what the poll under way does: `scanning`,
    /// `connecting`, `polling`.
    package var stage: String
    /// When the last poll ended.
    package var lastPoll: Instant?
    /// When the next one begins, as far as is known now.
    package var nextPoll: Instant?
    /// How the last poll went, in words.
    package var pollSentence: String?
    /// What went wrong in the poll under way, and what is tried next.
    package var trying: String?
    /// Records that the bottle held when its log was last read to the end.
    package var storedRecords: Int?
    /// The welcome was read.
    package var setupDone: Bool
    /// The bottles in range, strongest signal first; `nil` for a service that has a bottle.
    package var bottlesInRange: [BottleInRange]?
    /// Only in a demonstration: so many seconds pass in one.
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

    private enum CodingKeys: String, CodingKey {
        case version, stage, isPolling, lastPoll, nextPoll, pollSentence, trying, storedRecords, setupDone, speed
        case bottlesInRange
    }

    /// Instants as whole seconds since 1970, as everywhere in the state; what is not known is null.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(version, forKey: .version)
        try container.encode(stage, forKey: .stage)
        try container.encode(stage != "idle" && stage != "connected", forKey: .isPolling)
        try container.encode(lastPoll?.wholeSeconds, forKey: .lastPoll)
        try container.encode(nextPoll?.wholeSeconds, forKey: .nextPoll)
        try container.encode(pollSentence, forKey: .pollSentence)
        try container.encode(trying, forKey: .trying)
        try container.encode(storedRecords, forKey: .storedRecords)
        try container.encode(setupDone, forKey: .setupDone)
        try container.encodeIfPresent(bottlesInRange, forKey: .bottlesInRange)
        try container.encodeIfPresent(speed, forKey: .speed)
    }
}
