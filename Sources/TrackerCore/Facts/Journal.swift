/// A decoded and dated drink record of a bottle.
///
/// The identity consists of `bottle`, the record's bytes of date, time and amount, and `isFlaggedDrink`. The time of
/// receipt, the number of receipts and the dialect do not change it.
package struct JournalEntry: Hashable, Sendable {
    /// The bottle's address in upper case with colons, or a substitute if the address is unknown.
    package var bottle: String
    /// The 13 bytes as received, kept permanently so that a later decoder can read them again.
    package var raw: [UInt8]
    /// The record's wall-clock time with the resolved year. `nil` for an invalid date; then `raw` is the identity.
    package var wall: WallTime?
    /// The amount in millilitres, decoded with the width that `reading` names.
    package var amountMl: Int
    package var received: Instant
    package var verdict: Verdict
    /// The dialect and amount width, for example `calendar/u16be`; `nil` if unknown. Another reading updates the row.
    package var reading: String?
    /// The estimated time if the record's date is not trusted, or the host's time if its clock is not trusted.
    package var about: Instant?
    /// Whether the user dated this drink. Polls and later decoding do not change its date.
    package var isDatedManually = false

    package enum Verdict: Hashable, Sendable {
        /// A counted drink. `zone` is the IANA id of the time zone in which it was resolved.
        case drink(at: Instant, zone: String)
        /// A well-formed record that is not a drink. `reason` is `flag` (flag not zero) or `zero` (0 ml).
        case notADrink(reason: String)
        /// Stored without a time limit, not counted, and resolved again at each poll. `reason` comes from
        /// `RecordResolver.resolve` or `JournalQuarantine`.
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

    /// The length of a record in bytes.
    package static let length = 13
    /// The length of date, time and amount, which identify a drink. The other bytes might change.
    package static let identityLength = 8

    package var identity: ArraySlice<UInt8> { raw.prefix(Self.identityLength) }
    /// Whether byte 12 is zero, which marks a drink (0 ml included). A bookkeeping record of the same second and amount
    /// is another record.
    package var isFlaggedDrink: Bool {
        if case .notADrink(reason: "flag") = verdict { return false }
        return Self.isFlaggedDrink(raw)
    }

    package static func isFlaggedDrink(_ raw: [UInt8]) -> Bool { raw.count <= 12 || raw[12] == 0 }
}

/// The gateway's reasons for quarantine, in addition to those of `RecordResolver`.
package enum JournalQuarantine {
    /// The dialect rejects the bytes.
    package static let rejectedByDialect = "refusedByDialect"
    /// The host's clock is not trusted, so nothing was dated.
    package static let hostClock = "hostClock"
    /// The bottle's clock was wrong when it wrote the record.
    package static let bottleClock = "bottleClock"
    /// The record arrived in fragments that can belong to two records. It counts when whole readings agree on it.
    package static let fragmented = "pieced"
}

/// The result of appending one entry.
package enum JournalOutcome: Hashable, Sendable {
    case stored
    /// The record was already stored with the same content.
    case duplicate
    /// The record was already stored, and still has no date.
    case waiting
    /// The record was in quarantine and now has a date.
    case promoted

    /// Whether the record is new or has its first date.
    package var isNew: Bool { self == .stored || self == .promoted }
}

/// The only entry point for a bottle's drinks. The gateway acknowledges only records that `append` has stored.
///
/// When `append` returns, the entries are on disk. When it throws, none of the batch is stored.
///
/// A record keeps one row. Its first date is final. A row without a date accepts the first date of a later entry. A new
/// `JournalEntry.reading` updates the row.
package protocol Journal: Sendable {
    /// Appends a batch in one transaction. Returns one outcome per entry, in order.
    func append(_ entries: [JournalEntry]) throws -> [JournalOutcome]
    /// The stored state of a bottle. Does not add an unknown bottle.
    func storedState(of names: BottleNames) throws -> StoredBottleState
    /// Adds the bottle that answered, with its identity and alias. The store then owns it, except if the poll reads a
    /// recording.
    /// - Throws: `ReleasedBottle` if the bottle was owned at the start of the poll and the user has released it since.
    func adopt(_ names: BottleNames) throws
    /// Whether the store owns the bottle now. Called directly before records are acknowledged.
    /// - Throws: an error if the journal's file was removed or replaced, for example.
    func isOwn(_ bottle: String) throws -> Bool
    /// Returns a page of a bottle's records that have no date or were decoded with another `reading`, in the order of
    /// their `id`.
    func reviewableRecords(of bottle: String, reading: String, after id: Int64, limit: Int) throws -> [ReviewableRecord]
    /// Stores the end of a poll and the values that the bottle reported.
    func finishPoll(_ report: PollRecord) throws
    /// Stores bytes that are not a record, with the reason. This does not permit an acknowledgement.
    func quarantine(bottle: String, bytes: [UInt8], reason: String, received: Instant) throws
}

extension Journal {
    /// The default for a journal from which no bottle is released.
    package func isOwn(_ bottle: String) throws -> Bool { true }
}

/// The names of a bottle in one poll.
package struct BottleNames: Hashable, Sendable {
    /// The bottle's identity, a part of its records' keys: the address, the serial number, or a substitute for them.
    package var identity: String
    /// The user's name for the bottle (`bottle.alias`), unique. The first bottle with an alias keeps it.
    package var alias: String?
    /// Whether the store owned the bottle at the start of the poll. A bottle released since is not adopted again.
    package var wasAdopted = false

    package init(_ identity: String, alias: String? = nil) {
        self.identity = identity
        self.alias = alias
    }
}

/// The stored state of a bottle.
package struct StoredBottleState: Hashable, Sendable {
    /// The end of the last poll that read the whole log (evidence for rule R3 of A2).
    package var lastCompletePoll: Instant?
    /// The end of the last poll whose readings of the whole log agreed and that acknowledged records.
    package var lastAcknowledgingPoll: Instant?
    /// The largest number of records in agreeing readings of one poll, a lower bound of the log's capacity.
    package var largestReading: Int

    package init(
        lastCompletePoll: Instant? = nil, lastAcknowledgingPoll: Instant? = nil, largestReading: Int = 0
    ) {
        self.lastCompletePoll = lastCompletePoll
        self.lastAcknowledgingPoll = lastAcknowledgingPoll
        self.largestReading = largestReading
    }
}

/// A stored record that another decoding might date.
package struct ReviewableRecord: Hashable, Sendable {
    /// The row id, from which the next page continues.
    package var id: Int64
    /// The first identity of the record's bottle.
    package var bottle: String
    package var raw: [UInt8]
    /// The time of receipt by the host's clock.
    package var received: Instant
    /// The reason not to count the record; `nil` if the record has a date.
    package var quarantineReason: String?

    package init(id: Int64, bottle: String, raw: [UInt8], received: Instant, quarantineReason: String?) {
        self.id = id
        self.bottle = bottle
        self.raw = raw
        self.received = received
        self.quarantineReason = quarantineReason
    }
}

/// The result of a poll, except its drinks.
package struct PollRecord: Hashable, Sendable {
    package var bottle: String
    package var name: String?
    /// The model in lower case; `nil` if unknown.
    package var model: String?
    /// The battery level in percent (0–100).
    package var batteryPercent: Int?
    /// The bottle's clock minus the host's, in seconds; `nil` if the bottle did not report it.
    package var clockDriftSeconds: Int?
    /// The end of the poll by the host's clock.
    package var endedAt: Instant
    package var complete: Bool
    /// Whether the host's clock contradicts the store or the bottle, so that `endedAt` is not evidence.
    package var isClockUntrusted: Bool
    /// Whether readings of the whole log agreed and records were acknowledged.
    package var hasAcknowledged = false
    /// The largest number of records in readings of the log that agreed, in this poll or an earlier one.
    package var largestReading = 0

    package init(
        bottle: String, name: String? = nil, model: String? = nil, batteryPercent: Int? = nil,
        clockDriftSeconds: Int? = nil, endedAt: Instant, complete: Bool, isClockUntrusted: Bool = false
    ) {
        self.bottle = bottle
        self.name = name
        self.model = model
        self.batteryPercent = batteryPercent
        self.clockDriftSeconds = clockDriftSeconds
        self.endedAt = endedAt
        self.complete = complete
        self.isClockUntrusted = isClockUntrusted
    }
}
