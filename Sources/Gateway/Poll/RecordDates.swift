import BottleProtocol
import TrackerCore

/// Converts the 13 bytes of each record to a journal entry, dated if the host's clock is trusted.
struct RecordDates {
    let bottle: String
    let options: PollOptions
    let received: Instant
    private let lastPoll: Instant?
    /// The end of the last poll that acknowledged records. A poll with an empty log does not count: that can be an
    /// error.
    private let lastAcknowledgingPoll: Instant?
    let trust: ClockTrust
    private var previous: Instant?

    init(
        bottle: String, options: PollOptions, received: Instant, stored: StoredBottleState = StoredBottleState(),
        trust: ClockTrust
    ) {
        self.bottle = bottle
        self.options = options
        self.received = received
        // A poll that ended after this one used a wrong clock.
        func known(_ end: Instant?) -> Instant? { end.flatMap { $0 > received && trust.isTrusted ? nil : $0 } }
        lastPoll = known(stored.lastCompletePoll)
        lastAcknowledgingPoll = known(stored.lastAcknowledgingPoll)
        self.trust = trust
    }

    /// Returns the journal entry of a record. The caller must pass records in the order of the log.
    mutating func entry(_ raw: [UInt8]) -> JournalEntry {
        guard let record = decode(raw) else { return rejectedEntry(raw) }
        let evidence = RecordResolver.Evidence(previous: previous, lastPollWithoutIt: lastPoll)
        let found = resolve(record, received: received, evidence: evidence)
        if found.quarantineReason == nil, let instant = found.instant { previous = instant }
        var entry = JournalEntry(
            bottle: bottle, raw: raw, wall: found.wall, amountMl: record.amountMl, received: received,
            verdict: verdict(record, found), reading: options.reading)
        guard !trust.isTrusted else { return entry }
        // An untrusted clock must not supply the year if the record is decoded again in a dialect without years.
        if case .quarantined = entry.verdict {
            entry.verdict = .quarantined(reason: JournalQuarantine.hostClock)
        } else if let instant = found.instant {
            entry.received = instant
        }
        return entry
    }

    /// Returns the time in the record; `nil` if its bytes are not a date.
    func time(_ raw: [UInt8]) -> Instant? {
        decode(raw).flatMap { resolve($0, received: received).instant }
    }

    private func resolve(
        _ record: DrinkRecord, received: Instant, evidence: RecordResolver.Evidence = RecordResolver.Evidence()
    ) -> RecordResolver.Resolution {
        let wall = WallTime(
            year: record.year ?? 2000, month: record.month, day: record.day, hour: record.hour, minute: record.minute,
            second: record.second)
        return options.resolver.resolve(wall, hasYear: record.year != nil, received: received, evidence: evidence)
    }

    private func verdict(_ record: DrinkRecord, _ found: RecordResolver.Resolution) -> JournalEntry.Verdict {
        let verdict = found.verdict(amountMl: record.amountMl, isDrink: record.isDrink, zone: options.zone)
        guard trust.isTrusted else { return verdictByOwnDate(record, found) }
        // A record from before the last complete poll would have been read by that poll, so its date is wrong.
        if let lastAcknowledgingPoll, let instant = found.instant, found.quarantineReason == nil,
            instant.seconds(to: lastAcknowledgingPoll) > RecordResolver.maxLeadSeconds
        {
            return .quarantined(reason: JournalQuarantine.bottleClock)
        }
        return verdict
    }

    /// Returns the verdict without a trusted host's clock: only a record with a year can count.
    private func verdictByOwnDate(_ record: DrinkRecord, _ found: RecordResolver.Resolution) -> JournalEntry.Verdict {
        guard record.year != nil, let instant = found.instant, lastAcknowledgingPoll.map({ instant >= $0 }) ?? true
        else {
            return .quarantined(reason: JournalQuarantine.hostClock)
        }
        return resolve(record, received: instant).verdict(
            amountMl: record.amountMl, isDrink: record.isDrink, zone: options.zone)
    }

    private func decode(_ raw: [UInt8]) -> DrinkRecord? {
        try? DrinkRecord(decoding: raw, dialect: options.dialect, amountWidth: options.amountWidth)
    }

    /// Returns the entry of a record that the dialect rejects. It is stored, so that another dialect can decode it
    /// later.
    private func rejectedEntry(_ raw: [UInt8]) -> JournalEntry {
        let other = try? DrinkRecord(decoding: raw, dialect: .calendar, amountWidth: options.amountWidth)
        return JournalEntry(
            bottle: bottle, raw: raw, wall: nil, amountMl: other?.amountMl ?? 0, received: received,
            verdict: .quarantined(
                reason: trust.isTrusted ? JournalQuarantine.rejectedByDialect : JournalQuarantine.hostClock),
            reading: options.reading)
    }
}

extension PollOptions {
    /// The dialect and amount width in the journal's format: `calendar/u16be`.
    var reading: String { "\(dialect.rawValue)/\((amountWidth ?? AmountWidth(dialect)).rawValue)" }
}
