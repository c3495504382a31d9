import BottleProtocol
import TrackerCore

/// From a record's 13 bytes to what the journal takes: read in the dialect, dated by the rules of tracker law A2.
struct RecordDating {
    let bottle: String
    let options: PollOptions
    let received: Instant
    /// End of this bottle's last complete poll: what it did not return is newer (rule R3).
    let lastPoll: Instant?
    let clock: HostClock.Verdict
    /// Bottle's clock minus ours, seconds.
    let drift: Int?
    /// When the bottle's clock was an echo of ours.
    let echoes: [BottleEcho]
    /// Where a record has no year: whether the clock of receipt may tell it.
    let tellsYear: Bool
    let years: YearTeller
    /// Somebody agrees with this computer's clock: what lies days ahead of it was dated by a wrong one.
    let isWitnessed: Bool
    /// This computer's clock: what contradicts a bottle's is noted, for the day on which it is contradicted itself.
    let host: ClockMark?
    /// Instant of the record before, in the order in which the bottle sends them (rule R2).
    private var previous: Instant?
    /// The records have gone back in time: from here on the bottle wrote them with another clock.
    private var isAfterJump = false
    /// Records of frames that were overtaken on the way: they go back in time, and no clock did.
    private var overtaken: Set<[UInt8]> = []
    /// What came already: a dump that begins anew goes back in time, and no clock did.
    private var passed: Set<[UInt8]> = []

    init(
        bottle: String, options: PollOptions, received: Instant, lastPoll: Instant? = nil,
        clock: HostClock.Verdict = .believed, drift: Int? = nil,
        echoes: [BottleEcho] = [], tellsYear: Bool = true, years: YearTeller = .notAsked, host: ClockMark? = nil,
        isWitnessed: Bool = false
    ) {
        self.isWitnessed = isWitnessed
        self.years = years
        self.host = host
        self.bottle = bottle
        self.options = options
        self.received = received
        // A poll that ended in the future was one of a clock that was ahead: no evidence.
        self.lastPoll = lastPoll.flatMap { $0 > received ? nil : $0 }
        self.clock = clock
        self.drift = drift
        self.echoes = echoes
        self.tellsYear = tellsYear
    }

    /// The log whose records are to be dated, in the order in which it came.
    mutating func expect(_ records: [[UInt8]]) {
        guard clock == .bottleIsWrong || clock.objection != nil, let drift else { return }
        let shown = received.advanced(seconds: Double(drift) + HostClock.tolerance)
        // What lies behind what the bottle's clock shows, that clock may have written.
        var seen: Set<[UInt8]> = []
        let dated = records.filter { seen.insert($0).inserted }.compactMap { raw in
            read(raw).flatMap { options.resolver.resolve($0.fields, received: received).instant }.flatMap {
                $0 > shown ? (raw: raw, at: $0) : nil
            }
        }
        overtaken = Set(LogOrder.overtaken(dated.map(\.at), jump: Self.jumpSeconds).map { dated[$0].raw })
    }

    /// A record of a log, in its order.
    /// - Parameter row: what the journal has it as, where it waits there since an earlier poll: what came before a
    ///   clock was set was not written by it.
    mutating func date(_ raw: [UInt8], row: UnsettledRecord? = nil) -> JournalEntry {
        guard let record = read(raw) else { return refused(raw) }
        let echo = echoed(record, after: row?.id ?? .max)
        if let echo, echo.isWrong {
            var entry = entry(raw, record, echo.resolution)
            // By how much it was wrong is measured by a clock that may be wrong itself.
            if !clock.tellsDays { entry.verdict = .quarantined(reason: JournalDoubt.hostClock) }
            return entry
        }
        let evidence = RecordResolver.Evidence(previous: previous, lastPollWithoutIt: lastPoll)
        let resolution = options.resolver.resolve(record.fields, received: received, evidence: evidence)
        if let instant = resolution.instant, !overtaken.contains(raw), passed.insert(raw).inserted {
            if let previous, instant.seconds(to: previous) > Self.jumpSeconds { isAfterJump = true }
            if resolution.doubt == nil { previous = instant }
        }
        if echo == nil, clock.tellsDays, let row, let entry = staysDoubted(row, record) ?? judgedByNow(row, record) {
            return entry
        }
        var entry = entry(raw, record, resolution)
        if record.year == nil { entry.yearClock = years.lone }
        switch clock {
        case .contradicted:
            (entry.verdict, entry.yearClock) = (.quarantined(reason: JournalDoubt.hostClock), nil)
            guard let drift, let instant = resolution.instant, wroteWithWrongClock(instant, drift, row) else { break }
            // Which of the two was wrong may be known in a later poll, when the bottle has been put right, and nobody
            // could tell any more.
            entry.about = instant.advanced(seconds: Double(-drift))
            entry.yearClock = host
        case .bottleIsWrong:
            guard let drift, let instant = resolution.instant, wroteWithWrongClock(instant, drift, row) else { break }
            entry.verdict = .quarantined(reason: JournalDoubt.bottleClock)
            entry.about = instant.advanced(seconds: Double(-drift))
            entry.yearClock = host
        case .believed where isWitnessed && record.year != nil && resolution.doubt == .implausibleTimestamp:
            // It would become true by waiting (law A2, rule 5, has a moment in mind), on a day after that on which it
            // was received.
            guard let instant = resolution.instant, received.seconds(to: instant) > 2 * RecordResolver.aheadSeconds
            else { break }
            entry.verdict = .quarantined(reason: JournalDoubt.bottleClock)
            entry.yearClock = host
        case .believed, .near, .undecided:
            break
        }
        return entry
    }

    /// A record that is stored already: read anew, and dated if it has no date. The time of its receipt stays what it
    /// was, unless that came from a clock that could not be right. `nil`: nobody can say more of it now.
    func dateAgain(_ row: UnsettledRecord) -> JournalEntry? {
        if row.doubt == JournalDoubt.bottleClock { return judgedAnew(row) }
        let isReceiptWrong = row.doubt == JournalDoubt.hostClock
        guard let record = read(row.raw) else { return refused(row.raw, isReceiptWrong ? received : row.received) }
        let echo = echoed(record, after: row.id, measuredOnly: row.doubt == nil)
        if let echo, echo.isWrong || row.doubt == nil {
            var entry = entry(row.raw, record, echo.resolution)
            entry.received = isReceiptWrong ? received : row.received
            entry.isCorrection = row.doubt == nil
            guard row.isAhead,
                echo.resolution.instant.map({ received.seconds(to: $0) > RecordResolver.aheadSeconds }) ?? true
            else { return entry }
        }
        if echo == nil, let entry = judgedByNow(row, record) { return entry }
        guard record.year != nil || tellsYear else { return nil }
        if row.doubt == nil, record.year == nil, let clock = row.yearClock, let time = years.time(of: clock) {
            let resolution = options.resolver.resolve(record.fields, received: time)
            // Nobody can say better: it stays what it was.
            guard resolution.doubt == nil else { return nil }
            var entry = entry(row.raw, record, resolution)
            (entry.received, entry.isYearAgreed) = (row.received, true)
            return entry
        }
        if row.isAhead { return entryOfNow(row, record) }
        // A record without a year that waited for most of one would be taken for a fresh one.
        let limit =
            isReceiptWrong || record.year != nil
            ? received : min(received, row.received.advanced(seconds: Self.yearlessSeconds))
        var resolution = options.resolver.resolve(record.fields, received: row.doubt == nil ? row.received : limit)
        // A record with a year may show that the time of its receipt was wrong.
        if row.doubt == nil, record.year != nil, resolution.doubt == .implausibleTimestamp {
            resolution = options.resolver.resolve(record.fields, received: received)
            // Nor is this clock's time, perhaps.
            if resolution.doubt != nil { return nil }
        }
        var entry = entry(row.raw, record, resolution)
        entry.received = isReceiptWrong ? received : row.received
        if record.year == nil { entry.yearClock = row.doubt == nil ? row.yearClock : years.lone }
        return entry
    }

    /// A clock of ours found the bottle's clock wrong. Where it has turned out wrong itself, and by just as much, the
    /// bottle was right: the record counts by its own date. `nil`: nobody knows better.
    private func judgedAnew(_ row: UnsettledRecord) -> JournalEntry? {
        guard let record = read(row.raw), let judge = row.yearClock, let about = row.about,
            let truth = years.exactTime(of: judge)
        else { return nil }
        let error = judge.wall.seconds(to: truth)
        let resolution = options.resolver.resolve(record.fields, received: truth)
        guard error.magnitude > HostClock.tolerance, resolution.doubt == nil, let instant = resolution.instant,
            about.advanced(seconds: error).seconds(to: instant).magnitude <= HostClock.tolerance
        else { return nil }
        var entry = entry(row.raw, record, resolution)
        entry.received = truth
        return entry
    }

    /// A record that a wrong bottle's clock wrote comes once more, from a bottle that is right by now. That says
    /// nothing of the record: it stays in doubt, where the clock that found the bottle wrong can still be measured.
    /// `nil`: it cannot.
    private func staysDoubted(_ row: UnsettledRecord, _ record: DrinkRecord) -> JournalEntry? {
        guard row.doubt == JournalDoubt.bottleClock, let judge = row.yearClock, years.exactTime(of: judge) != nil else {
            return nil
        }
        if let entry = judgedAnew(row) { return entry }
        var entry = entry(row.raw, record, options.resolver.resolve(record.fields, received: received))
        (entry.verdict, entry.about, entry.yearClock) = (
            .quarantined(reason: JournalDoubt.bottleClock), row.about, judge
        )
        entry.received = row.received
        return entry
    }

    /// A record waits because this computer's clock and the bottle's were days apart. Where it can be measured now by
    /// how much this computer's was wrong then, the clock that was right dates the record, also after somebody else has
    /// put the bottle right. `nil`: it cannot be measured.
    private func judgedByNow(_ row: UnsettledRecord, _ record: DrinkRecord) -> JournalEntry? {
        guard row.doubt == JournalDoubt.hostClock, let judge = row.yearClock, let about = row.about,
            let truth = years.exactTime(of: judge)
        else { return nil }
        let resolution = options.resolver.resolve(record.fields, received: truth)
        guard let instant = resolution.instant else { return nil }
        let wasThen = about.advanced(seconds: judge.wall.seconds(to: truth))
        var entry = entry(row.raw, record, resolution)
        if resolution.doubt == nil, wasThen.seconds(to: instant).magnitude <= HostClock.tolerance {
            entry.received = truth
            return entry
        }
        (entry.verdict, entry.about) = (.quarantined(reason: JournalDoubt.bottleClock), wasThen)
        // The clock by which it is known now, should that turn out wrong.
        (entry.received, entry.yearClock) = (received, years.mark)
        return entry
    }

    /// A drink that counts ahead of a clock that is vouched for. Its own date, where that can be: a correction led it
    /// astray. Else none.
    private func entryOfNow(_ row: UnsettledRecord, _ record: DrinkRecord) -> JournalEntry {
        let resolution = options.resolver.resolve(record.fields, received: received)
        var entry = entry(row.raw, record, resolution)
        entry.received = row.received
        if record.year != nil, resolution.doubt == nil {
            entry.isCorrection = true
        } else {
            (entry.verdict, entry.isWithdrawn) = (.quarantined(reason: JournalDoubt.bottleClock), true)
            entry.about = row.received > received ? nil : row.received
        }
        return entry
    }

    /// When the records of a log were made by their own account; those without a possible date are left out. A record
    /// without a year takes it from the bottle's clock, where that is known: whose clock is right is yet to be found
    /// out.
    func times(_ records: [[UInt8]]) -> [LoggedTime] {
        let now = received.advanced(seconds: Double(drift ?? 0))
        return records.compactMap { raw in
            guard let record = read(raw) else { return nil }
            let times = record.year == nil ? echoes.reversed().map(\.time.upperBound) : []
            let echoed = zip(times, echoes.reversed()).lazy.compactMap { time, echo in
                self.options.resolver.resolve(record.fields, received: time).instant.flatMap {
                    echo.time.contains($0) ? $0 : nil
                }
            }.first
            guard let instant = echoed ?? options.resolver.resolve(record.fields, received: now).instant else {
                return nil
            }
            return LoggedTime(instant: instant, hasYear: record.year != nil)
        }
    }

    /// Where the bottle wrote this while its clock was an echo: dated by that clock, and corrected.
    private func echoed(_ record: DrinkRecord, after row: Int64, measuredOnly: Bool = false) -> (
        resolution: RecordResolver.Resolution, isWrong: Bool
    )? {
        // By its own year it is told at once which of many echoes come into question; the zone's changes stay below the
        // tolerance.
        let own = record.year == nil ? nil : options.resolver.resolve(record.fields, received: received).instant
        for echo in echoes.reversed() where row > echo.lastRecord && (echo.isMeasured || !measuredOnly) {
            if let own,
                own.seconds(to: echo.time.lowerBound) > RecordResolver.aheadSeconds
                    || echo.time.upperBound.seconds(to: own) > RecordResolver.aheadSeconds
            {
                continue
            }
            var resolution = options.resolver.resolve(record.fields, received: echo.time.upperBound)
            guard resolution.doubt == nil, let instant = resolution.instant, echo.time.contains(instant) else {
                continue
            }
            guard echo.isWrong else { return (resolution, false) }
            let corrected = instant.advanced(seconds: -echo.error)
            resolution.instant = corrected
            if received.seconds(to: corrected) > RecordResolver.aheadSeconds {
                resolution.doubt = .implausibleTimestamp
            }
            return (resolution, true)
        }
        return nil
    }

    private func read(_ raw: [UInt8]) -> DrinkRecord? {
        try? DrinkRecord(decoding: raw, dialect: options.dialect, amountWidth: options.amountWidth)
    }

    /// Made after the clock went wrong: behind the record before it, before a poll that did not return it, or close to
    /// what the clock shows; or ahead of us.
    private func wroteWithWrongClock(_ instant: Instant, _ drift: Int, _ row: UnsettledRecord?) -> Bool {
        guard drift < 0 else { return received.seconds(to: instant) > RecordResolver.aheadSeconds }
        if isAfterJump { return true }
        if let lastPoll, instant.seconds(to: lastPoll) > RecordResolver.aheadSeconds { return true }
        let near = -RecordResolver.aheadSeconds...RecordResolver.aheadSeconds
        // It waits since a poll whose clock agreed with it.
        if let row, near ~= instant.seconds(to: row.received) { return false }
        // Nobody has read this log since the time that the bottle shows. What was made within a day of that was made by
        // its clock, as far as anybody can tell. It may have been put right since it was found wrong (simulation, seed
        // 5551000).
        return Double(drift.magnitude) > HostClock.tolerance
            && near ~= instant.seconds(to: received.advanced(seconds: Double(drift)))
    }

    private func entry(_ raw: [UInt8], _ record: DrinkRecord, _ resolution: RecordResolver.Resolution) -> JournalEntry {
        JournalEntry(
            bottle: bottle, raw: raw, wall: resolution.wall, amountMl: record.amountMl, received: received,
            verdict: resolution.verdict(amountMl: record.amountMl, isDrink: record.isDrink, zone: options.zone),
            reading: options.reading)
    }

    /// A record that the dialect does not take: a row like any other, for the day on which another dialect reads it.
    private func refused(_ raw: [UInt8], _ received: Instant? = nil) -> JournalEntry {
        let amount =
            (try? DrinkRecord(decoding: raw, dialect: .calendar, amountWidth: options.amountWidth))?.amountMl ?? 0
        return JournalEntry(
            bottle: bottle, raw: raw, wall: nil, amountMl: amount, received: received ?? self.received,
            verdict: .quarantined(reason: JournalDoubt.refused), reading: options.reading)
    }

    /// A log is in order; an hour back is a change of clocks for the winter.
    private static let jumpSeconds: Double = 2 * 3600
    /// Longer than any clock of a host that lost the time by a shutdown, shorter than a year less 180 days.
    private static let yearlessSeconds: Double = 90 * 86_400
}

extension DrinkRecord {
    fileprivate var fields: RecordFields {
        RecordFields(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    }
}

extension PollOptions {
    /// How records are read, as the journal notes it: `calendar/u16be`.
    var reading: String { "\(dialect.rawValue)/\((amountWidth ?? AmountWidth(dialect)).rawValue)" }
}
