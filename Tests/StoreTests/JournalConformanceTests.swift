import GatewaySupport
import Store
import Testing
import TrackerCore

/// One suite for every journal: what the simulation proves on the memory twin is only worth something where the twin
/// and the store on disk are the same journal.
@Suite struct JournalConformanceTests {
    enum Kind: String, CaseIterable, CustomTestStringConvertible {
        case memory, sqlite

        var testDescription: String { rawValue }

        func make() throws -> any Journal {
            switch self {
            case .memory: MemoryJournal()
            case .sqlite: try TrackerStore(inMemory: nil)
            }
        }
    }

    private func onDisk(_ journal: any Journal) -> TrackerStore? { journal as? TrackerStore }
    private func day(_ text: String) throws -> LocalDay { try #require(LocalDay(text)) }

    private let calendar = "calendar/u16be"
    private let strict = "strict/u8"

    /// A record of 2026-02-02 as a dialect reads it.
    private func read(
        _ bottle: String = "A4:C1:38:00:00:01", second: Int = 15, ml: Int = 500, tail: UInt8 = 0,
        as reading: String? = nil,
        verdict: JournalEntry.Verdict? = nil
    ) -> JournalEntry {
        var made = entry(bottle, second: second, ml: ml, tail: tail, verdict: verdict)
        made.reading = reading ?? calendar
        if made.reading == strict { made.amountMl = ml & 0xFF }
        return made
    }

    private func doubtful(_ reason: String, second: Int = 15, ml: Int = 500, tail: UInt8 = 0, as reading: String? = nil)
        -> JournalEntry
    {
        var made = read(second: second, ml: ml, tail: tail, as: reading, verdict: .quarantined(reason: reason))
        if reason == JournalDoubt.refused || reason == "impossibleDate" { made.wall = nil }
        return made
    }

    private func unsettled(_ journal: any Journal, as reading: String, after: Int64 = 0, limit: Int = 100) throws
        -> [UnsettledRecord]
    {
        try journal.unsettled(of: "A4:C1:38:00:00:01", reading: reading, after: after, limit: limit)
    }

    @Test(arguments: Kind.allCases) func `append: new, known, and known within the batch`(_ kind: Kind) throws {
        let journal = try kind.make()
        #expect(try journal.append([]) == [])
        #expect(try journal.append([read(), read(ml: 17), read()]) == [.stored, .stored, .duplicate])
        #expect(try journal.append([read(tail: 9), read(ml: 18), read("b2")]) == [.duplicate, .stored, .stored])
    }

    /// Chaos seed 202: a poll that was stopped for a while journaled in pieces what another one had journaled whole and
    /// acknowledged meanwhile.
    @Test(arguments: Kind.allCases) func `a doubt of a poll that is behind takes nothing from what has come whole`(
        _ kind: Kind
    ) throws {
        let journal = try kind.make()
        #expect(try journal.append([doubtful(JournalDoubt.hostClock)]) == [.stored])
        #expect(try journal.append([doubtful(JournalDoubt.pieced, as: strict)]) == [.waiting])
        #expect(try unsettled(journal, as: strict).map(\.doubt) == [JournalDoubt.hostClock])
        #expect(try journal.append([doubtful(JournalDoubt.pieced, second: 16)]) == [.stored])
        #expect(try journal.append([doubtful(JournalDoubt.hostClock, second: 16)]) == [.waiting])
        #expect(try unsettled(journal, as: calendar).map(\.doubt).filter { $0 == JournalDoubt.pieced }.isEmpty)
    }

    @Test(arguments: Kind.allCases) func `a drink, bookkeeping and 0 ml of the same second are told apart`(_ kind: Kind)
        throws
    {
        let journal = try kind.make()
        let flag = read(verdict: .notADrink(reason: "flag"))
        let zero = read(ml: 0, verdict: .notADrink(reason: "zero"))
        let zeroFlag = read(ml: 0, verdict: .notADrink(reason: "flag"))
        #expect(try journal.append([read(), flag, zero, zeroFlag]) == [.stored, .stored, .stored, .stored])
        #expect(
            try journal.append([zeroFlag, zero, flag, read()]) == [.duplicate, .duplicate, .duplicate, .duplicate])
    }

    @Test(arguments: Kind.allCases) func `a record without a date is promoted by the same bytes, once`(_ kind: Kind)
        throws
    {
        let journal = try kind.make()
        let waiting = doubtful("implausibleTimestamp")
        #expect(
            try journal.append([waiting, doubtful("implausibleTimestamp", tail: 1), waiting]) == [
                .stored, .stored, .waiting,
            ])
        #expect(try unsettled(journal, as: calendar).count == 2)
        #expect(try journal.append([read()]) == [.promoted])
        #expect(try journal.append([read(), waiting, read(tail: 1)]) == [.duplicate, .duplicate, .duplicate])
        #expect(try unsettled(journal, as: calendar).isEmpty)
    }

    @Test(arguments: Kind.allCases) func `a date once given is never taken away`(_ kind: Kind) throws {
        let journal = try kind.make()
        #expect(try journal.append([read()]) == [.stored])
        for reason in ["implausibleTimestamp", JournalDoubt.refused, JournalDoubt.hostClock] {
            #expect(try journal.append([doubtful(reason, as: strict)]) == [.duplicate])
        }
        #expect(try journal.append([read(as: strict)]) == [.duplicate])
    }

    /// 1,350 records of 2027 under strict, and then the calendar dialect.
    @Test(arguments: Kind.allCases) func `records that a dialect refuses are rows like any other, without a limit`(
        _ kind: Kind
    ) throws {
        let journal = try kind.make()
        let refused = (0..<1350).map { doubtful(JournalDoubt.refused, second: $0 % 60, ml: 100 + $0, as: strict) }
        #expect(try journal.append(refused) == Array(repeating: .stored, count: 1350))
        #expect(try journal.append(refused) == Array(repeating: .waiting, count: 1350))
        #expect(try unsettled(journal, as: strict).isEmpty, "nothing is new in the dialect that refused them")
        var found = 0
        var last: Int64 = 0
        while true {
            let page = try unsettled(journal, as: calendar, after: last, limit: 500)
            #expect(
                page.map(\.id) == page.map(\.id).sorted()
                    && page.allSatisfy { $0.id > last && $0.doubt == JournalDoubt.refused })
            found += page.count
            guard let end = page.last else { break }
            last = end.id
        }
        #expect(found == 1350)
        let dated = (0..<1350).map { read(second: $0 % 60, ml: 100 + $0) }
        #expect(try journal.append(dated) == Array(repeating: .promoted, count: 1350))
        #expect(try unsettled(journal, as: calendar).isEmpty)
    }

    @Test(arguments: Kind.allCases) func `another dialect changes the row, and changes it back`(_ kind: Kind) throws {
        let journal = try kind.make()
        #expect(try journal.append([read(as: strict)]) == [.stored])
        for reading in [calendar, strict, calendar] {
            #expect(try unsettled(journal, as: reading).map(\.doubt) == [nil])
            #expect(try journal.append([read(as: reading)]) == [.duplicate])
            #expect(try unsettled(journal, as: reading).isEmpty)
            let expected = reading == strict ? 500 & 0xFF : 500
            if let memory = journal as? MemoryJournal { #expect(memory.entries.map(\.amountMl) == [expected]) }
            if let store = onDisk(journal) { #expect(try store.drinks(on: day("2026-02-02")).map(\.ml) == [expected]) }
        }
    }

    /// Chaos seed 303: 768 ml are none in a reading of one byte; read in two bytes again, the drink stood where the
    /// wrong clock had put it.
    @Test(arguments: Kind.allCases) func `a drink that another reading took back comes again at its corrected time`(
        _ kind: Kind
    ) throws {
        let journal = try kind.make()
        let moved = sampleInstant.advanced(seconds: 3 * 86_400)
        func read768(as reading: String, at instant: Instant = sampleInstant) -> JournalEntry {
            var made = read(
                ml: 768, as: reading,
                verdict: reading == strict ? .notADrink(reason: "zero") : .drink(at: instant, zone: "UTC"))
            made.isCorrection = instant != sampleInstant
            return made
        }
        #expect(try journal.append([read768(as: calendar)]) == [.stored])
        #expect(try journal.append([read768(as: calendar, at: moved)]) == [.duplicate])
        #expect(try journal.append([read768(as: strict)]) == [.duplicate])
        #expect(try journal.append([read768(as: calendar)]) == [.duplicate])
        if let memory = journal as? MemoryJournal {
            #expect(memory.entries.map(\.verdict) == [.drink(at: moved, zone: "UTC")])
        }
        if let store = onDisk(journal) { #expect(try store.drinks(on: day("2026-02-05")).map(\.at) == [moved]) }
    }

    @Test(arguments: Kind.allCases) func `what a wrong bottle's clock wrote is left to a person`(_ kind: Kind) throws {
        let journal = try kind.make()
        var wrong = doubtful(JournalDoubt.bottleClock)
        wrong.about = sampleInstant
        #expect(try journal.append([wrong, doubtful("implausibleTimestamp")]) == [.stored, .waiting])
        #expect(try unsettled(journal, as: calendar).isEmpty)
    }

    /// Or to a clock that somebody agrees with, where the one that contradicted the bottle is known.
    @Test(arguments: Kind.allCases) func `the clock that contradicted a bottle's is known`(_ kind: Kind) throws {
        let journal = try kind.make()
        var wrong = doubtful(JournalDoubt.bottleClock)
        (wrong.about, wrong.yearClock) = (sampleInstant, ClockMark(wall: wrong.received, boot: 7, start: 1_000))
        #expect(try journal.append([wrong]) == [.stored])
        func asked(_ isAgreed: Bool) throws -> [UnsettledRecord] {
            try journal.unsettled(
                of: "A4:C1:38:00:00:01", reading: calendar, since: nil, openYears: isAgreed, ahead: nil, after: 0,
                limit: 10)
        }
        #expect(try asked(false).isEmpty)
        #expect(try asked(true).map(\.about) == [sampleInstant] && asked(true).map(\.yearClock) == [wrong.yearClock])
        #expect(try journal.append([read()]) == [.promoted])
        #expect(try asked(true).map(\.doubt) == [nil] || asked(true).isEmpty)
    }

    @Test(arguments: Kind.allCases) func `a failure in the middle of a batch leaves nothing of it`(_ kind: Kind) throws
    {
        let journal = try kind.make()
        var bad = read(second: 40)
        bad.verdict = .drink(at: sampleInstant, zone: "No/Where")
        #expect(throws: (any Error).self) {
            try journal.append([read(), doubtful("implausibleTimestamp", second: 20), bad])
        }
        #expect(try unsettled(journal, as: calendar).isEmpty)
        #expect(try journal.append([read(), doubtful("implausibleTimestamp", second: 20)]) == [.stored, .stored])
    }

    @Test(arguments: Kind.allCases) func `junk that equals a record is no record, and bounded`(_ kind: Kind) throws {
        let journal = try kind.make()
        try journal.quarantine(bottle: "A4:C1:38:00:00:01", bytes: read().raw, reason: "r", received: sampleInstant)
        #expect(try unsettled(journal, as: calendar).isEmpty)
        #expect(try journal.append([read()]) == [.stored])
        for number in 0..<1100 {
            try journal.quarantine(
                bottle: "b1", bytes: [UInt8(number >> 8), UInt8(number & 255)], reason: "r", received: sampleInstant)
        }
        if let memory = journal as? MemoryJournal { #expect(memory.quarantine.count == MemoryJournal.junkLimit) }
        if let store = onDisk(journal) {
            #expect(try store.quarantinedBytes().count == TrackerStore.quarantineRowLimit)
        }
    }

    @Test(arguments: Kind.allCases) func `the last complete poll is the last clock that was believed`(_ kind: Kind)
        throws
    {
        let journal = try kind.make()
        let at = { (seconds: Int64) in Instant(seconds: 1_770_000_000 + seconds) }
        func end(_ seconds: Int64, complete: Bool = true, doubtful: Bool = false) throws -> BottleMemory {
            try journal.finishPoll(
                PollRecord(bottle: "b1", endedAt: at(seconds), complete: complete, isClockDoubtful: doubtful))
            return try journal.recall(BottleNames("b1"))
        }
        #expect(try journal.recall(BottleNames("b1")) == BottleMemory())
        #expect(try end(10) == BottleMemory(lastCompletePoll: at(10), newestReceipt: at(10)))
        #expect(try end(20, complete: false) == BottleMemory(lastCompletePoll: at(10), newestReceipt: at(20)))
        // A host that was years ahead, known as such, and not known.
        #expect(try end(9_000_000, doubtful: true) == BottleMemory(lastCompletePoll: at(10), newestReceipt: at(20)))
        #expect(try end(9_000_000) == BottleMemory(lastCompletePoll: at(9_000_000), newestReceipt: at(9_000_000)))
        #expect(try end(30, complete: false) == BottleMemory(lastCompletePoll: nil, newestReceipt: at(30)))
        #expect(try end(40) == BottleMemory(lastCompletePoll: at(40), newestReceipt: at(40)))
        #expect(try journal.recall(BottleNames("b2")) == BottleMemory(lastCompletePoll: nil, newestReceipt: at(40)))
    }

    @Test(arguments: Kind.allCases)
    func `a clock's mark stays with the receipt, and the settings with their bottle until its clock is right`(
        _ kind: Kind
    ) throws {
        let journal = try kind.make()
        let mark = ClockMark(
            wall: Instant(seconds: 1_770_000_000), boot: 7, uptime: 1000, isSynchronized: false, zoneOffset: -16_200)
        let later = mark.advanced(milliseconds: 5000)
        try journal.noteClockSetting(of: "b1", mark, wasNear: false)
        #expect(try journal.append([read("b1"), read("b1", second: 16)]) == [.stored, .stored])
        try journal.noteClockSetting(of: "b1", later, wasNear: true)
        let settings = [ClockSetting(mark: mark), ClockSetting(mark: later, lastRecord: 2, wasNear: true)]
        #expect(try journal.recall(BottleNames("b1")).clockSettings == settings)
        #expect(try journal.recall(BottleNames("b2")).clockSettings.isEmpty)
        try journal.finishPoll(PollRecord(bottle: "b1", endedAt: mark.wall, complete: true, clock: mark))
        #expect(try journal.recall(BottleNames("b2")).receiptClock == mark)
        #expect(try journal.recall(BottleNames("b1")).clockSettings == settings)
        try journal.finishPoll(PollRecord(bottle: "b1", endedAt: mark.wall, complete: true, isBottleClockRight: true))
        let memory = try journal.recall(BottleNames("b1"))
        #expect(memory.clockSettings.isEmpty && memory.receiptClock == nil)
    }

    @Test(arguments: Kind.allCases)
    func `the last clock that somebody agreed with stays beside the last that was believed`(
        _ kind: Kind
    ) throws {
        let journal = try kind.make()
        let mark = ClockMark(wall: Instant(seconds: 1_770_000_000), boot: 7, uptime: 1000)
        func end(_ milliseconds: Int64, isWitnessed: Bool, doubtful: Bool = false) throws -> [ClockMark?] {
            let clock = mark.advanced(milliseconds: milliseconds)
            try journal.finishPoll(
                PollRecord(
                    bottle: "b1", endedAt: clock.wall, complete: true, isClockDoubtful: doubtful, clock: clock,
                    isClockWitnessed: isWitnessed))
            let memory = try journal.recall(BottleNames("b2"))
            return [memory.receiptClock, memory.witness]
        }
        #expect(try end(1, isWitnessed: false) == [mark.advanced(milliseconds: 1), nil])
        #expect(try end(2, isWitnessed: true) == [mark.advanced(milliseconds: 2), mark.advanced(milliseconds: 2)])
        #expect(try end(3, isWitnessed: false) == [mark.advanced(milliseconds: 3), mark.advanced(milliseconds: 2)])
        #expect(
            try end(4, isWitnessed: true, doubtful: true) == [
                mark.advanced(milliseconds: 3), mark.advanced(milliseconds: 2),
            ])
        #expect(try end(5, isWitnessed: false) == [mark.advanced(milliseconds: 5), mark.advanced(milliseconds: 2)])
        try journal.finishPoll(PollRecord(bottle: "b1", endedAt: mark.wall, complete: true))
        let memory = try journal.recall(BottleNames("b1"))
        #expect(memory.receiptClock == nil && memory.witness == nil)
    }

    @Test(arguments: Kind.allCases) func `what a time server said outlives what a bottle agreed with, and nothing else`(
        _ kind: Kind
    ) throws {
        let journal = try kind.make()
        func end(_ seconds: Int64, isSynchronized: Bool?, isWitnessed: Bool) throws -> [Int64?] {
            let clock = ClockMark(
                wall: Instant(seconds: 1_770_000_000 + seconds), boot: 7, uptime: 1000, isSynchronized: isSynchronized)
            try journal.finishPoll(
                PollRecord(
                    bottle: "b1", endedAt: clock.wall, complete: true, clock: clock, isClockWitnessed: isWitnessed))
            let memory = try journal.recall(BottleNames("b1"))
            return [memory.receiptClock, memory.witness, memory.served].map {
                $0.map { $0.wall.milliseconds / 1000 - 1_770_000_000 }
            }
        }
        #expect(try end(1, isSynchronized: nil, isWitnessed: true) == [1, 1, nil])
        #expect(try end(2, isSynchronized: true, isWitnessed: true) == [2, 2, 2])
        #expect(try end(3, isSynchronized: false, isWitnessed: false) == [3, 2, 2])
        #expect(try end(4, isSynchronized: false, isWitnessed: true) == [4, 4, 2])
        #expect(try end(5, isSynchronized: nil, isWitnessed: true) == [5, 5, 2])
        #expect(try end(-86_000, isSynchronized: nil, isWitnessed: true) == [-86_000, -86_000, 2])
        #expect(try end(6, isSynchronized: true, isWitnessed: true) == [6, 6, 6])
        // Somebody believed one that is behind: a person.
        #expect(try end(-87_000, isSynchronized: nil, isWitnessed: true) == [-87_000, -87_000, nil])
        #expect(try end(7, isSynchronized: true, isWitnessed: true) == [7, 7, 7])
        try journal.finishPoll(PollRecord(bottle: "b1", endedAt: sampleInstant, complete: true))
        #expect(try journal.recall(BottleNames("b1")).served == nil)
    }

    @Test(arguments: Kind.allCases)
    func `a year from a clock that nobody agreed with stays open, until somebody agrees with one`(_ kind: Kind) throws {
        let journal = try kind.make()
        let clock = ClockMark(wall: sampleInstant, boot: 7, uptime: 5000)
        func open(_ isAsked: Bool = true) throws -> [ClockMark?] {
            try journal.unsettled(
                of: "A4:C1:38:00:00:01", reading: calendar, since: nil, openYears: isAsked, ahead: nil, after: 0,
                limit: 10
            ).map(\.yearClock)
        }
        var (moves, stays) = (read(), read(second: 16))
        (moves.yearClock, moves.received, stays.yearClock, stays.received) = (clock, clock.wall, clock, clock.wall)
        #expect(try journal.append([moves, stays, read(second: 17)]) == [.stored, .stored, .stored])
        #expect(try open() == [clock, clock] && open(false).isEmpty)
        // Delivered again, nothing moves.
        #expect(try journal.append([moves]) == [.duplicate])
        #expect(try open().count == 2)
        (moves.yearClock, moves.isYearAgreed, stays.yearClock, stays.isYearAgreed) = (nil, true, nil, true)
        moves.wall?.year += 1
        moves.verdict = .drink(at: sampleInstant.advanced(seconds: 365 * 86_400), zone: "UTC")
        // The same year: not even by an hour.
        stays.verdict = .drink(at: sampleInstant.advanced(seconds: 3600), zone: "UTC")
        #expect(try journal.append([moves, stays]) == [.duplicate, .duplicate])
        #expect(try open().isEmpty)
        if let store = onDisk(journal) {
            #expect(try store.drinks(on: day("2026-02-02")).count == 2)
            #expect(try store.allDrinks().filter { $0.at == sampleInstant.advanced(seconds: 3600) }.isEmpty)
            #expect(try store.drinks(on: day("2027-02-02")).count == 1)
        }
        if let memory = journal as? MemoryJournal {
            #expect(
                memory.entries.contains { $0.verdict == moves.verdict }
                    && !memory.entries.contains { $0.verdict == stays.verdict })
        }
        // Final now.
        moves.wall?.year -= 1
        moves.verdict = .drink(at: sampleInstant, zone: "UTC")
        #expect(try journal.append([moves]) == [.duplicate])
        if let store = onDisk(journal) { #expect(try store.drinks(on: day("2027-02-02")).count == 1) }
    }

    /// Chaos, seed 61: fourteen drinks waited for good, for what had waited before forgot which clock had spoken
    /// against the bottle's.
    @Test(arguments: Kind.allCases, [JournalDoubt.hostClock, JournalDoubt.pieced, "implausible timestamp"])
    func `the clock that spoke against a bottle's is noted also beside what had waited before`(
        _ kind: Kind, before: String
    ) throws {
        let journal = try kind.make()
        let clock = ClockMark(wall: sampleInstant.advanced(seconds: -300 * 86_400), boot: 7, uptime: 5000)
        func waiting() throws -> [UnsettledRecord] {
            try journal.unsettled(
                of: "A4:C1:38:00:00:01", reading: calendar, since: nil, openYears: true, ahead: nil, after: 0, limit: 10
            )
        }
        var entry = read()
        entry.verdict = .quarantined(reason: before)
        #expect(try journal.append([entry]) == [.stored])
        entry.verdict = .quarantined(reason: JournalDoubt.bottleClock)
        (entry.yearClock, entry.received, entry.about) = (clock, clock.wall, clock.wall.advanced(seconds: -60))
        #expect(try journal.append([entry]) == [.waiting])
        let found = try #require(waiting().first)
        #expect(
            found.doubt == JournalDoubt.bottleClock && found.yearClock == clock && found.about == entry.about
                && found.received == clock.wall)
        (entry.verdict, entry.yearClock) = (.drink(at: sampleInstant, zone: "UTC"), nil)
        #expect(try journal.append([entry]) == [.promoted])
        #expect(try waiting().isEmpty)
    }

    @Test(arguments: Kind.allCases)
    func `of clocks that are not believed the first of a start of the computer stays noted`(
        _ kind: Kind
    ) throws {
        let journal = try kind.make()
        func entry(boot: Int64?, _ seconds: Double) -> JournalEntry {
            var entry = doubtful(JournalDoubt.hostClock)
            entry.received = sampleInstant.advanced(seconds: seconds)
            guard let boot else { return entry }
            (entry.yearClock, entry.about) = (
                ClockMark(wall: entry.received, boot: boot, uptime: 5000), entry.received.advanced(seconds: -60)
            )
            return entry
        }
        func waiting() throws -> UnsettledRecord {
            try #require(
                journal.unsettled(
                    of: "A4:C1:38:00:00:01", reading: calendar, since: nil, openYears: false, ahead: nil, after: 0,
                    limit: 10
                ).first)
        }
        // In turn: what is brought, and which of them is known then.
        let first = entry(boot: 7, 100)
        for (entry, kept) in [
            (entry(boot: nil, 0), nil), (first, first), (entry(boot: 7, 200), first), (entry(boot: nil, 300), first),
            (entry(boot: 8, 400), entry(boot: 8, 400)),
        ] {
            _ = try journal.append([entry])
            let found = try waiting()
            #expect(
                found.doubt == JournalDoubt.hostClock && found.yearClock == kept?.yearClock
                    && found.about == kept?.about)
            if let kept { #expect(found.received == kept.received) }
        }
        if let store = onDisk(journal) { #expect(try store.doubtfulRecords().map(\.about) == [nil]) }
    }

    @Test(arguments: Kind.allCases) func `when a bottle's clock was right last stays with the bottle`(_ kind: Kind)
        throws
    {
        let journal = try kind.make()
        let agreement = ClockAgreement(at: Instant(seconds: 1_770_000_000), zoneOffset: -3600)
        func end(_ agreement: ClockAgreement?) throws -> ClockAgreement? {
            try journal.finishPoll(
                PollRecord(bottle: "b1", endedAt: Instant(seconds: 1_770_000_100), complete: true, agreement: agreement)
            )
            return try journal.recall(BottleNames("b1")).agreement
        }
        #expect(try end(nil) == nil)
        #expect(try end(agreement) == agreement)
        #expect(try end(nil) == agreement)
        #expect(try journal.recall(BottleNames("b2")).agreement == nil)
    }

    @Test(arguments: Kind.allCases)
    func `a drink moves only when the clock that dated it was wrong, and not when it came before`(_ kind: Kind) throws {
        let journal = try kind.make()
        _ = try journal.append([read(), read(second: 16)])
        let rows = try journal.unsettled(
            of: "A4:C1:38:00:00:01", reading: calendar, since: 1, openYears: false, ahead: nil, after: 0, limit: 10)
        #expect(rows.map(\.id) == [2] && rows.first?.doubt == nil)
        var moved = read(second: 16, verdict: .drink(at: sampleInstant.advanced(seconds: -51 * 86_400), zone: "UTC"))
        #expect(try journal.append([moved]) == [.duplicate])
        if let store = onDisk(journal) { #expect(try store.drinks(on: day("2026-02-02")).count == 2) }
        moved.isCorrection = true
        #expect(try journal.append([moved]) == [.duplicate])
        if let store = onDisk(journal) {
            #expect(try store.drinks(on: day("2026-02-02")).count == 1)
            #expect(try store.drinks(on: day("2025-12-13")).count == 1)
        }
        if let memory = journal as? MemoryJournal { #expect(memory.entries.contains { $0.verdict == moved.verdict }) }
    }

    @Test(arguments: Kind.allCases)
    func `a drink ahead of a clock that is vouched for goes back to doubt; deleted, it stays deleted`(_ kind: Kind)
        throws
    {
        let journal = try kind.make()
        _ = try journal.append([read(), read(second: 16), read(second: 17)])
        let before = sampleInstant.advanced(seconds: -1)
        func ahead(_ limit: Instant?, since: Int64? = nil) throws -> [Int64] {
            try journal.unsettled(
                of: "A4:C1:38:00:00:01", reading: calendar, since: since, openYears: false, ahead: limit, after: 0,
                limit: 10
            ).filter(\.isAhead).map(\.id)
        }
        let ids: [Int64] = [1, 2, 3]
        #expect(
            try ahead(before) == ids && ahead(before, since: 1) == ids && ahead(nil).isEmpty
                && ahead(sampleInstant.advanced(seconds: 3600)).isEmpty)
        var withdrawn = doubtful(JournalDoubt.bottleClock)
        // Without the word for it a date stays.
        #expect(try journal.append([withdrawn]) == [.duplicate])
        withdrawn.isWithdrawn = true
        withdrawn.about = before
        #expect(try journal.append([withdrawn]) == [.waiting])
        #expect(try journal.append([withdrawn]) == [.waiting])
        #expect(try ahead(before) == [2, 3] && unsettled(journal, as: calendar).isEmpty)
        guard let store = onDisk(journal) else { return }
        #expect(try store.drinks(on: day("2026-02-02")).count == 2)
        let context = WriteContext(now: sampleInstant, zone: .utc, source: "cli", makeID: { "edited" })
        _ = try store.editDrink(try #require(store.drinks(on: day("2026-02-02")).first).key, ml: 321, context)
        for second in [16, 17] {
            var entry = doubtful(JournalDoubt.bottleClock, second: second)
            entry.isWithdrawn = true
            _ = try store.append([entry])
        }
        #expect(try store.drinks(on: day("2026-02-02")).map(\.ml) == [321])
    }

    /// A simulation with processes, seed 101: the settings that had to put 194 drinks back had been forgotten.
    @Test(arguments: Kind.allCases)
    func `hundreds of settings of a bottle's clock are remembered, and those by hours crowd out none`(_ kind: Kind)
        throws
    {
        let journal = try kind.make()
        func note(_ number: Int, wasNear: Bool) throws {
            try journal.noteClockSetting(
                of: "b1", ClockMark(wall: Instant(seconds: Int64(number)), boot: 1, uptime: Int64(number) * 1000),
                wasNear: wasNear)
        }
        for number in 0..<300 { try note(number, wasNear: false) }
        for number in 300..<600 { try note(number, wasNear: true) }
        let settings = try journal.recall(BottleNames("b1")).clockSettings
        #expect(settings.filter { !$0.wasNear }.map(\.mark.uptime) == (0..<300).map { $0 * 1000 })
        #expect(settings.last?.mark.uptime == 599_000 && settings.last?.wasNear == true)
    }

    @Test(arguments: Kind.allCases) func `an alias names a bottle and is not its identity`(_ kind: Kind) throws {
        let journal = try kind.make()
        // Set before the first poll, and unset later: 40 drinks stay 40.
        try journal.adopt(BottleNames("A4:C1:38:00:00:01", alias: "kitchen"))
        let forty = (0..<40).map { read(second: $0) }
        #expect(try journal.append(forty) == Array(repeating: .stored, count: 40))
        try journal.adopt(BottleNames("A4:C1:38:00:00:01"))
        #expect(try journal.append(forty) == Array(repeating: .duplicate, count: 40))
        #expect(try journal.append([read("kitchen")]) == [.duplicate])
        // Another bottle is another bottle, whatever the setting says; it keeps an alias of its own.
        try journal.adopt(BottleNames("A4:C1:38:00:00:02", alias: "kitchen"))
        #expect(try journal.append([read("A4:C1:38:00:00:02")]) == [.stored])
        try journal.adopt(BottleNames("A4:C1:38:00:00:02", alias: "office"))
        try journal.adopt(BottleNames("A4:C1:38:00:00:01", alias: "office"))
        #expect(try journal.append([read("office"), read("kitchen")]) == [.duplicate, .duplicate])
        #expect(try journal.append([read("office", second: 50), read("kitchen", second: 51)]) == [.stored, .stored])
        #expect(
            try journal.append([read("A4:C1:38:00:00:02", second: 50), read("A4:C1:38:00:00:01", second: 51)]) == [
                .duplicate, .duplicate,
            ])
    }

    @Test(arguments: Kind.allCases) func `a bottle is the journal's own once it has answered, and not by its records`(
        _ kind: Kind
    ) throws {
        let journal = try kind.make()
        func own() throws -> [Set<String>] {
            if let store = onDisk(journal) { return try store.bottles().filter(\.isOwn).map { Set($0.names) } }
            return (journal as? MemoryJournal)?.own ?? []
        }
        // Asked about, heard in a recording, and through with it.
        #expect(try journal.recall(BottleNames("A4:C1:38:00:00:01", alias: "kitchen")) == BottleMemory())
        #expect(try journal.append([read()]) == [.stored])
        try journal.finishPoll(
            PollRecord(bottle: "A4:C1:38:00:00:01", endedAt: sampleInstant, complete: false, isClockDoubtful: true))
        #expect(try own() == [])
        try journal.adopt(BottleNames("A4:C1:38:00:00:02", alias: "kitchen"))
        #expect(try own() == [["A4:C1:38:00:00:02", "kitchen"]])
        for _ in 1...2 { try journal.adopt(BottleNames("A4:C1:38:00:00:01")) }
        #expect(try Set(own()) == [["A4:C1:38:00:00:02", "kitchen"], ["A4:C1:38:00:00:01"]])
        #expect(try journal.append([read()]) == [.duplicate])
    }

    /// A person lets it go between a poll's first look and its bottle's first answer.
    @Test(arguments: Kind.allCases) func `a bottle that was let go while it was polled is not taken back`(_ kind: Kind)
        throws
    {
        let journal = try kind.make()
        let (old, new) = ("A4:C1:38:00:00:01", "A4:C1:38:00:00:02")
        for name in [old, new] { try journal.adopt(BottleNames(name)) }
        #expect(
            try journal.isOwn(old) && journal.isOwn("A4:C1:38:00:00:03"), "of one that nobody knows nothing is known")
        if let store = onDisk(journal) {
            try store.releaseBottle(old)
        } else {
            (journal as? MemoryJournal)?.release(old)
        }
        var names = BottleNames(old)
        names.wasOwn = true
        #expect(throws: ReleasedBottle(old)) { try journal.adopt(names) }
        #expect(try !journal.isOwn(old) && journal.isOwn(new))
        // Who names it, or has it in an empty store, means it.
        try journal.adopt(BottleNames(old))
        #expect(try journal.isOwn(old))
    }

    @Test(arguments: Kind.allCases) func `what a journal has of a dump is told by when it came`(_ kind: Kind) throws {
        let journal = try kind.make()
        let bottle = "A4:C1:38:00:00:01"
        #expect(try journal.standing(of: [read().raw], from: bottle) == [nil])
        _ = try journal.append([read(second: 1)])
        var late = read(second: 2)
        late.received = sampleInstant.advanced(seconds: 60)
        var doubted = read(second: 3)
        doubted.verdict = .quarantined(reason: JournalDoubt.pieced)
        _ = try journal.append([late, doubted])
        // The rest of a drink's bytes does not stay; of a record in doubt all of them count.
        let asked = [
            read(second: 3), read(second: 2, tail: 9), read(second: 1), read(second: 3, tail: 9), read(second: 4),
        ].map(\.raw)
        #expect(
            try journal.standing(of: asked, from: bottle) == [
                doubted.received, late.received, read(second: 1).received, nil, nil,
            ])
        #expect(try journal.standing(of: asked, from: "another").allSatisfy { $0 == nil })
        // Also where pieces of other lengths stand between them, and where nothing is asked.
        #expect(
            try journal.standing(of: [[1], read(second: 1).raw, [], read(second: 2).raw + [0]], from: bottle).prefix(3)
                == [nil, read(second: 1).received, nil])
        #expect(try journal.standing(of: [], from: bottle) == [])
    }

    @Test(arguments: Kind.allCases) func `a log is compared without making anything known`(_ kind: Kind) throws {
        let journal = try kind.make()
        let log = (0..<5).map { read(second: $0) }
        let bottle = "A4:C1:38:00:00:01"
        #expect(try journal.likeness(of: log.map(\.raw), to: bottle) == LogLikeness(known: 0))
        _ = try journal.append(log)
        let end = sampleInstant
        try journal.finishPoll(PollRecord(bottle: bottle, endedAt: end, complete: true))
        // All of its bytes count: a bottle that drank as much at that second differs in the rest.
        let asked = log.map(\.raw) + [read(second: 0, tail: 9).raw, read(second: 50).raw]
        #expect(try journal.likeness(of: asked, to: bottle) == LogLikeness(known: 5, lastCompletePoll: end))
        #expect(try journal.likeness(of: asked, to: "hides") == LogLikeness(known: 0))
        // A name that stands in for it means the same bottle from then on.
        try journal.adopt(BottleNames(bottle, standIn: "hides"))
        #expect(try journal.likeness(of: asked, to: "hides").known == 5)
        #expect(try journal.append([read("hides", second: 1)]) == [.duplicate])
    }
}
