/// A drink record as a bottle delivered it, decoded and dated: what the gateway hands to the journal.
///
/// Identity is the bottle's: `bottle` and the record's own bytes of date, time and amount, and whether it is a drink at
/// all. Never when or how often it was received, nor in which dialect it was read (promise 2).
package struct JournalEntry: Hashable, Sendable {
    /// The bottle's identity: its address, upper case with colons, or what stands in for one.
    package var bottle: String
    /// The 13 bytes as received, kept for ever so that a better decoder can run over the past (promise 3).
    package var raw: [UInt8]
    /// The record's wall clock with the resolved year; `nil` where the fields are no date (`raw` is the identity then).
    package var wall: WallTime?
    /// The record's amount in the reading's width.
    package var amountMl: Int
    /// When we received it.
    package var received: Instant
    /// What is made of it.
    package var verdict: Verdict
    /// How the bytes were read, for example `calendar/u16be`; `nil` where nobody says. The same bytes read in another
    /// way change their row instead of making a second one.
    package var reading: String?
    /// When it probably was, where the date is not believed and something better is known; where the host's clock is
    /// not believed, when it was by that clock.
    package var about: Instant?
    /// A person dated this drink: no reading and no poll moves it any more.
    package var isByHand = false

    /// What is made of a record.
    package enum Verdict: Hashable, Sendable {
        /// A drink at this instant; counts. `zone` is the IANA id it was resolved in.
        case drink(at: Instant, zone: String)
        /// A well-formed record that is not a drink: flag not zero (`reason` "flag"), or 0 ml ("zero").
        case notADrink(reason: String)
        /// Kept without a limit, not counted, resolved anew at each poll: impossible date, implausible year or age,
        /// refused by the dialect. See `JournalDoubt` for the reasons.
        case quarantined(reason: String)
    }

    package init(
        bottle: String, raw: [UInt8], wall: WallTime?, amountMl: Int, received: Instant, verdict: Verdict,
        reading: String? = nil,
        about: Instant? = nil
    ) {
        self.bottle = bottle
        self.raw = raw
        self.wall = wall
        self.amountMl = amountMl
        self.received = received
        self.verdict = verdict
        self.reading = reading
        self.about = about
    }

    /// A record's bytes.
    package static let length = 13
    /// The part of the bytes that says which drink it is: date, time and amount. The rest is not known to stay.
    package static let identityLength = 8

    /// Date, time and amount as the bottle wrote them.
    package var identity: ArraySlice<UInt8> { raw.prefix(Self.identityLength) }
    /// Whether the record says of itself that it is a drink (byte 12 is zero), be it one of 0 ml: bookkeeping of the
    /// same second and amount is another record.
    package var isFlaggedDrink: Bool {
        if case .notADrink(reason: "flag") = verdict { return false }
        return Self.isFlaggedDrink(raw)
    }

    /// By the bytes alone: byte 12 is zero.
    package static func isFlaggedDrink(_ raw: [UInt8]) -> Bool { raw.count <= 12 || raw[12] == 0 }
}

/// Why a record is kept but not counted: the reasons that the gateway gives beside those of `RecordResolver.Doubt`.
package enum JournalDoubt {
    /// The dialect does not take these bytes for a drink record.
    package static let refused = "refusedByDialect"
    /// The host's clock cannot be right, so nothing was dated.
    package static let hostClock = "hostClock"
    /// The bottle's clock was wrong when it wrote this: its date is not to be believed, whatever it says.
    package static let bottleClock = "bottleClock"
    /// It came cut into pieces that may be of two records: it counts when readings of the whole log agree on it.
    package static let pieced = "pieced"
}

/// What became of one entry.
package enum JournalOutcome: Hashable, Sendable {
    /// New, and durably stored.
    case stored
    /// Was there already, as what it is: counts as stored.
    case duplicate
    /// Was there already, without a date, and still has none: counts as stored.
    case waiting
    /// Was there in quarantine, and now has a date: counts from now on.
    case promoted

    /// It came for the first time, or has its first date.
    package var isNew: Bool { self == .stored || self == .promoted }
}

/// The one door for sips (promise 1: the bottle is told to forget only what came back from `append`).
///
/// Synchronous: when `append` returns, the entries are on the disk; when it throws, none of this batch is.
///
/// A record keeps one row. Its first date is final. A row without a date takes the first date that a later entry
/// brings, and a row that was read in another way (`JournalEntry.reading`) takes the result of the new reading.
package protocol Journal: Sendable {
    /// Appends a batch in one transaction. One outcome an entry, in order.
    func append(_ entries: [JournalEntry]) throws -> [JournalOutcome]
    /// What is remembered of a bottle. Makes nothing known.
    func recall(_ names: BottleNames) throws -> BottleMemory
    /// The bottle has answered: makes it known by its identity and its alias, and this journal's own. One whose records
    /// came from a recording is known and not its own.
    /// - Throws: `ReleasedBottle` for one that was its own when the poll began and that a person has let go since.
    func adopt(_ names: BottleNames) throws
    /// `false` of a bottle that is known here and not this journal's own, now. Asked right before the bottle is told to
    /// forget records.
    /// - Throws: also where the journal's file was removed or replaced.
    func isOwn(_ bottle: String) throws -> Bool
    /// Records of a bottle that are worth another look when records are read as `reading` says: those without a date,
    /// and those that were read in another way. Ascending by `id`, after the given one.
    func unsettled(of bottle: String, reading: String, after id: Int64, limit: Int) throws -> [UnsettledRecord]
    /// Remembers a poll's end and what the bottle said of itself.
    func finishPoll(_ report: PollRecord) throws
    /// Keeps bytes that are no record, with the reason: never dropped in silence, and never a proof that something is
    /// stored.
    func quarantine(bottle: String, bytes: [UInt8], reason: String, received: Instant) throws
}

extension Journal {
    /// One from which no bottle is ever let go keeps what it has.
    package func isOwn(_ bottle: String) throws -> Bool { true }
}

/// Who a bottle is, as it showed itself in one poll.
package struct BottleNames: Hashable, Sendable {
    /// Its address, its serial number, or what stands in for them: what its records are kept under.
    package var identity: String
    /// What a person calls it (`bottle.alias`). Two bottles never share one: the first keeps it.
    package var alias: String?
    /// It was the journal's own when the poll began: one that a person has let go since is not taken back.
    package var wasOwn = false

    package init(_ identity: String, alias: String? = nil) {
        self.identity = identity
        self.alias = alias
    }
}

/// What a journal remembers when a bottle answers.
package struct BottleMemory: Hashable, Sendable {
    /// End of this bottle's last poll that read the whole log (evidence for rule R3 of A2).
    package var lastCompletePoll: Instant?
    /// The last time at which anything was received from any bottle by a clock that could be believed.
    package var newestReceipt: Instant?

    /// End of this bottle's last poll that read the whole log so often alike that it acknowledged records.
    package var lastAgreedPoll: Instant?
    /// The most records that agreeing readings of one poll brought: the bottle's ring holds at least as many.
    package var largestReading: Int

    package init(
        lastCompletePoll: Instant? = nil, newestReceipt: Instant? = nil, lastAgreedPoll: Instant? = nil,
        largestReading: Int = 0
    ) {
        self.lastCompletePoll = lastCompletePoll
        self.lastAgreedPoll = lastAgreedPoll
        self.newestReceipt = newestReceipt
        self.largestReading = largestReading
    }
}

/// A stored record that could be read or dated otherwise by now.
package struct UnsettledRecord: Hashable, Sendable {
    /// The row's number: where to go on.
    package var id: Int64
    /// The identity that its bottle was first seen under.
    package var bottle: String
    /// The 13 bytes as received.
    package var raw: [UInt8]
    /// When they were received, by the clock of then.
    package var received: Instant
    /// Why it has no date; `nil` where it has one.
    package var doubt: String?

    package init(id: Int64, bottle: String, raw: [UInt8], received: Instant, doubt: String?) {
        self.id = id
        self.bottle = bottle
        self.raw = raw
        self.received = received
        self.doubt = doubt
    }
}

/// What a poll leaves behind beside the drinks.
package struct PollRecord: Hashable, Sendable {
    /// The identity of the bottle that answered.
    package var bottle: String
    /// The name that it showed on the air.
    package var name: String?
    /// Its model in lower case, where it is known.
    package var model: String?
    /// Charge of its battery, 0–100, as it said.
    package var batteryPercent: Int?
    /// Bottle's clock minus host's, seconds; `nil` where the bottle did not tell.
    package var clockDriftSeconds: Int?
    /// When the poll was over, by the host's clock.
    package var endedAt: Instant
    /// Whether the whole log was read.
    package var complete: Bool
    /// The host's clock contradicted store or bottle: `endedAt` is no evidence of anything.
    package var isClockDoubtful: Bool
    /// Readings of the whole log agreed, and records were acknowledged.
    package var isAgreed = false
    /// The most records that agreeing readings brought, in this poll or an earlier one.
    package var largestReading = 0

    package init(
        bottle: String, name: String? = nil, model: String? = nil, batteryPercent: Int? = nil,
        clockDriftSeconds: Int? = nil, endedAt: Instant, complete: Bool, isClockDoubtful: Bool = false
    ) {
        self.bottle = bottle
        self.name = name
        self.model = model
        self.batteryPercent = batteryPercent
        self.clockDriftSeconds = clockDriftSeconds
        self.endedAt = endedAt
        self.complete = complete
        self.isClockDoubtful = isClockDoubtful
    }
}
