import BottleProtocol
import TrackerCore

/// Converts a record's 13 bytes to a journal entry. The record is dated if the host's clock is trusted.
struct RecordDates {
    let bottle: String
    let options: PollOptions
    let received: Instant
    private let lastPoll: Instant?
    /// The end of the last poll that acknowledged records. An empty log is no evidence, because it can be wrong.
    private let lastAgreedPoll: Instant?
    let trust: ClockTrust
    private var previous: Instant?

    init(
        bottle: String, options: PollOptions, received: Instant, memory: BottleMemory = BottleMemory(),
        trust: ClockTrust
    ) {
        self.bottle = bottle
        self.options = options
        self.received = received
        // A poll that ended in the future used a wrong clock.
        func known(_ end: Instant?) -> Instant? { end.flatMap { $0 > received && trust.isTrusted ? nil : $0 } }
        lastPoll = known(memory.lastCompletePoll)
        lastAgreedPoll = known(memory.lastAgreedPoll)
        self.trust = trust
    }

    /// The entry of a record. The caller must pass records in the order of the log.
    mutating func entry(_ raw: [UInt8]) -> JournalEntry {
        guard let record = read(raw) else { return refused(raw) }
        let evidence = RecordResolver.Evidence(previous: previous, lastPollWithoutIt: lastPoll)
        let found = options.resolver.resolve(record.wallFields, received: received, evidence: evidence)
        if found.doubt == nil, let instant = found.instant { previous = instant }
        return JournalEntry(
            bottle: bottle, raw: raw, wall: found.wall, amountMl: record.amountMl, received: received,
            verdict: verdict(record, found), reading: options.reading)
    }

    /// The time in the record; `nil` if its bytes are not a date.
    func time(_ raw: [UInt8]) -> Instant? {
        read(raw).flatMap { options.resolver.resolve($0.wallFields, received: received).instant }
    }

    private func verdict(_ record: DrinkRecord, _ found: RecordResolver.Resolution) -> JournalEntry.Verdict {
        let verdict = found.verdict(amountMl: record.amountMl, isDrink: record.isDrink, zone: options.zone)
        guard trust.isTrusted else { return byOwnDate(record, found) }
        // The last poll that read the whole log would have received the record.
        if let lastAgreedPoll, let instant = found.instant, found.doubt == nil,
            instant.seconds(to: lastAgreedPoll) > RecordResolver.aheadSeconds
        {
            return .quarantined(reason: JournalQuarantine.bottleClock)
        }
        return verdict
    }

    /// If the host's clock is not trusted, only a whole date in the record counts.
    private func byOwnDate(_ record: DrinkRecord, _ found: RecordResolver.Resolution) -> JournalEntry.Verdict {
        guard record.year != nil, let instant = found.instant, lastAgreedPoll.map({ instant >= $0 }) ?? true else {
            return .quarantined(reason: JournalQuarantine.hostClock)
        }
        return options.resolver.resolve(record.wallFields, received: instant).verdict(
            amountMl: record.amountMl, isDrink: record.isDrink, zone: options.zone)
    }

    private func read(_ raw: [UInt8]) -> DrinkRecord? {
        try? DrinkRecord(decoding: raw, dialect: options.dialect, amountWidth: options.amountWidth)
    }

    /// A record that the dialect rejects is stored like any other, so that another dialect can read it later.
    private func refused(_ raw: [UInt8]) -> JournalEntry {
        let other = try? DrinkRecord(decoding: raw, dialect: .calendar, amountWidth: options.amountWidth)
        return JournalEntry(
            bottle: bottle, raw: raw, wall: nil, amountMl: other?.amountMl ?? 0, received: received,
            verdict: .quarantined(reason: JournalQuarantine.refused), reading: options.reading)
    }
}

extension PollOptions {
    /// The dialect and amount width in the journal's format: `calendar/u16be`.
    var reading: String { "\(dialect.rawValue)/\((amountWidth ?? AmountWidth(dialect)).rawValue)" }
}

extension DrinkRecord {
    fileprivate var wallFields: RecordFields {
        RecordFields(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    }
}
