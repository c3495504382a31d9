/// A drink record as a bottle delivered it, decoded and dated: what the gateway hands to the journal.
///
/// Identity is the bottle's: `bottle`, `wall` (the record's own date-time fields with the resolved year), `amountMl`
/// and whether it is a drink at all. Never when or how often it was received (promise 2).
public struct JournalEntry: Hashable, Sendable {
    /// The bottle's identity: its address, upper case with colons, or its alias.
    public var bottle: String
    /// The 13 bytes as received, kept for ever so that a better decoder can run over the past (promise 3).
    public var raw: [UInt8]
    /// The record's wall clock with the resolved year; `nil` where the fields are no date (`raw` is the identity then).
    public var wall: WallTime?
    public var amountMl: Int
    /// When we received it.
    public var received: Instant
    public var verdict: Verdict

    public enum Verdict: Hashable, Sendable {
        /// A drink at this instant; counts. `zone` is the IANA id it was resolved in.
        case drink(at: Instant, zone: String)
        /// A well-formed record that is not a drink: flag not zero (`reason` "flag"), or 0 ml ("zero").
        case notADrink(reason: String)
        /// Kept, not counted, resolved anew at the next delivery: impossible date, implausible year or age.
        case quarantined(reason: String)
    }

    public init(bottle: String, raw: [UInt8], wall: WallTime?, amountMl: Int, received: Instant, verdict: Verdict) {
        self.bottle = bottle
        self.raw = raw
        self.wall = wall
        self.amountMl = amountMl
        self.received = received
        self.verdict = verdict
    }
}

/// What became of one entry.
public enum JournalOutcome: Hashable, Sendable {
    /// New, and durably stored.
    case stored
    /// Was there already: counts as stored.
    case duplicate
    /// Was there in quarantine, and now has a date: counts from now on.
    case promoted
}

/// The one door for sips (promise 1: the bottle is told to forget only what came back from `append`).
///
/// Synchronous: when `append` returns, the entries are on the disk; when it throws, none of this batch is.
public protocol Journal: Sendable {
    /// Appends a batch in one transaction. One outcome an entry, in order.
    func append(_ entries: [JournalEntry]) throws -> [JournalOutcome]
    /// End of this bottle's last poll that read the whole log (evidence for rule R3 of A2).
    func lastCompletePoll(of bottle: String) throws -> Instant?
    /// Remembers a poll's end and what the bottle said of itself.
    func finishPoll(_ report: PollRecord) throws
    /// Keeps bytes that could not be understood, with the reason: never dropped in silence.
    func quarantine(bottle: String, bytes: [UInt8], reason: String, received: Instant) throws
}

/// What a poll leaves behind beside the drinks.
public struct PollRecord: Hashable, Sendable {
    public var bottle: String
    public var name: String?
    public var model: String?
    public var batteryPercent: Int?
    /// Bottle's clock minus host's, seconds; `nil` where the bottle did not tell.
    public var clockDriftSeconds: Int?
    public var endedAt: Instant
    /// Whether the whole log was read.
    public var complete: Bool

    public init(
        bottle: String, name: String? = nil, model: String? = nil, batteryPercent: Int? = nil,
        clockDriftSeconds: Int? = nil, endedAt: Instant, complete: Bool
    ) {
        self.bottle = bottle
        self.name = name
        self.model = model
        self.batteryPercent = batteryPercent
        self.clockDriftSeconds = clockDriftSeconds
        self.endedAt = endedAt
        self.complete = complete
    }
}
