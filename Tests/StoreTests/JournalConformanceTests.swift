import GatewaySupport
import Store
import Testing
import TrackerCore

/// The simulation runs on the journal in memory, so both journals must pass the same tests.
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

    private let calendar = "calendar/u16be"
    private let strict = "strict/u8"

    /// A record of 2026-02-02 as a dialect reads it.
    private func read(
        _ bottle: String = "A4:C1:38:00:00:01", second: Int = 15, ml: Int = 500, tail: UInt8 = 0,
        as reading: String? = nil, verdict: JournalEntry.Verdict? = nil
    ) -> JournalEntry {
        var made = entry(bottle, second: second, ml: ml, tail: tail, verdict: verdict)
        made.reading = reading ?? calendar
        if made.reading == strict { made.amountMl = ml & 0xFF }
        return made
    }

    private func quarantined(
        _ reason: String, second: Int = 15, ml: Int = 500, tail: UInt8 = 0, as reading: String? = nil
    ) -> JournalEntry {
        var made = read(second: second, ml: ml, tail: tail, as: reading, verdict: .quarantined(reason: reason))
        if reason == JournalQuarantine.rejectedByDialect { made.wall = nil }
        return made
    }

    private func reviewableRecords(_ journal: any Journal, as reading: String, after: Int64 = 0, limit: Int = 100)
        throws
        -> [ReviewableRecord]
    {
        try journal.reviewableRecords(of: "A4:C1:38:00:00:01", reading: reading, after: after, limit: limit)
    }

    @Test(arguments: Kind.allCases) func `append reports new and known records of a batch`(_ kind: Kind) throws {
        let journal = try kind.make()
        #expect(try journal.append([]) == [])
        #expect(try journal.append([read(), read(ml: 17), read()]) == [.stored, .stored, .duplicate])
        #expect(try journal.append([read(tail: 9), read(ml: 18), read("b2")]) == [.duplicate, .stored, .stored])
    }

    /// Chaos seed 202: a suspended poll stored pieces of records that another poll had already stored and acknowledged.
    @Test(arguments: Kind.allCases) func `an outdated poll does not quarantine a stored record`(_ kind: Kind) throws {
        let journal = try kind.make()
        #expect(try journal.append([quarantined(JournalQuarantine.hostClock)]) == [.stored])
        #expect(try journal.append([quarantined(JournalQuarantine.fragmented, as: strict)]) == [.waiting])
        #expect(try reviewableRecords(journal, as: strict).map(\.quarantineReason) == [JournalQuarantine.hostClock])
        #expect(try journal.append([quarantined(JournalQuarantine.fragmented, second: 16)]) == [.stored])
        #expect(try journal.append([quarantined(JournalQuarantine.hostClock, second: 16)]) == [.waiting])
        #expect(
            try !reviewableRecords(journal, as: calendar).contains {
                $0.quarantineReason == JournalQuarantine.fragmented
            })
    }

    @Test(arguments: Kind.allCases)
    func `a drink, a bookkeeping record and 0 ml in one second are distinct`(_ kind: Kind) throws {
        let journal = try kind.make()
        let flag = read(verdict: .notADrink(reason: "flag"))
        let zero = read(ml: 0, verdict: .notADrink(reason: "zero"))
        let zeroFlag = read(ml: 0, verdict: .notADrink(reason: "flag"))
        #expect(try journal.append([read(), flag, zero, zeroFlag]) == [.stored, .stored, .stored, .stored])
        #expect(
            try journal.append([zeroFlag, zero, flag, read()]) == [.duplicate, .duplicate, .duplicate, .duplicate])
    }

    @Test(arguments: Kind.allCases)
    func `the same bytes with a date promote an undated record once`(_ kind: Kind) throws {
        let journal = try kind.make()
        let waiting = quarantined("implausibleTimestamp")
        #expect(
            try journal.append([waiting, quarantined("implausibleTimestamp", tail: 1), waiting]) == [
                .stored, .stored, .waiting,
            ])
        #expect(try reviewableRecords(journal, as: calendar).count == 2)
        #expect(try journal.append([read()]) == [.promoted])
        #expect(try journal.append([read(), waiting, read(tail: 1)]) == [.duplicate, .duplicate, .duplicate])
        #expect(try reviewableRecords(journal, as: calendar).isEmpty)
    }

    @Test(arguments: Kind.allCases)
    func `a record that counts later gets the receipt time of the trusted clock`(_ kind: Kind) throws {
        let (journal, counted) = (try kind.make(), read())
        for (second, reason) in [(15, JournalQuarantine.hostClock), (16, JournalQuarantine.fragmented)] {
            var wrong = read(second: second, verdict: .quarantined(reason: reason))
            wrong.received = counted.received.advanced(seconds: -300 * 86_400)
            _ = try journal.append([wrong])
            #expect(try journal.append([read(second: second)]) == [.promoted])
        }
        #expect(try reviewableRecords(journal, as: strict).map(\.received) == [counted.received, counted.received])
    }

    @Test(arguments: Kind.allCases)
    func `an untrusted clock changes neither reason nor receipt time of a quarantined record`(_ kind: Kind) throws {
        let journal = try kind.make()
        let rejected = read(verdict: .quarantined(reason: JournalQuarantine.rejectedByDialect))
        var untrusted = read(as: strict, verdict: .quarantined(reason: JournalQuarantine.hostClock))
        untrusted.received = rejected.received.advanced(seconds: -300 * 86_400)
        #expect(try journal.append([rejected, untrusted]) == [.stored, .waiting])
        let waiting = try #require(try reviewableRecords(journal, as: strict).first)
        #expect(
            waiting.quarantineReason == JournalQuarantine.rejectedByDialect && waiting.received == rejected.received)
        var later = read(as: strict)
        later.received = rejected.received.advanced(seconds: 86_400)
        #expect(try journal.append([later]) == [.promoted])
        #expect(try reviewableRecords(journal, as: calendar).map(\.received) == [rejected.received])
    }

    @Test(arguments: Kind.allCases) func `a stored date is never removed`(_ kind: Kind) throws {
        let journal = try kind.make()
        #expect(try journal.append([read()]) == [.stored])
        for reason in ["implausibleTimestamp", JournalQuarantine.rejectedByDialect, JournalQuarantine.hostClock] {
            #expect(try journal.append([quarantined(reason, as: strict)]) == [.duplicate])
        }
        #expect(try journal.append([read(as: strict)]) == [.duplicate])
    }

    @Test(arguments: Kind.allCases)
    func `records that a dialect rejects are stored without a limit`(_ kind: Kind) throws {
        let journal = try kind.make()
        let rejected = (0..<1350).map {
            quarantined(JournalQuarantine.rejectedByDialect, second: $0 % 60, ml: 100 + $0, as: strict)
        }
        #expect(try journal.append(rejected) == Array(repeating: .stored, count: 1350))
        #expect(try journal.append(rejected) == Array(repeating: .waiting, count: 1350))
        #expect(try reviewableRecords(journal, as: strict).isEmpty, "the same dialect rejects the records again")
        var found = 0
        var last: Int64 = 0
        while true {
            let page = try reviewableRecords(journal, as: calendar, after: last, limit: 500)
            #expect(
                page.map(\.id) == page.map(\.id).sorted()
                    && page.allSatisfy { $0.id > last && $0.quarantineReason == JournalQuarantine.rejectedByDialect })
            found += page.count
            guard let end = page.last else { break }
            last = end.id
        }
        #expect(found == 1350)
        let dated = (0..<1350).map { read(second: $0 % 60, ml: 100 + $0) }
        #expect(try journal.append(dated) == Array(repeating: .promoted, count: 1350))
        #expect(try reviewableRecords(journal, as: calendar).isEmpty)
    }

    @Test(arguments: Kind.allCases)
    func `a record read in its former dialect again has its former values`(_ kind: Kind) throws {
        let journal = try kind.make()
        #expect(try journal.append([read(as: strict)]) == [.stored])
        for reading in [calendar, strict, calendar] {
            #expect(try reviewableRecords(journal, as: reading).map(\.quarantineReason) == [nil])
            #expect(try journal.append([read(as: reading)]) == [.duplicate])
            #expect(try reviewableRecords(journal, as: reading).isEmpty)
            let expected = reading == strict ? 500 & 0xFF : 500
            if let memory = journal as? MemoryJournal { #expect(memory.entries.map(\.amountMl) == [expected]) }
            if let store = onDisk(journal) { #expect(try store.drinks(on: day("2026-02-02")).map(\.ml) == [expected]) }
        }
    }

    @Test(arguments: Kind.allCases)
    func `records of a wrong bottle clock stay in quarantine until the user decides`(_ kind: Kind) throws {
        let journal = try kind.make()
        var wrong = quarantined(JournalQuarantine.bottleClock)
        wrong.about = sampleInstant
        #expect(try journal.append([wrong, quarantined("implausibleTimestamp")]) == [.stored, .waiting])
        #expect(try reviewableRecords(journal, as: calendar).isEmpty)
    }

    @Test(arguments: Kind.allCases) func `a batch that fails midway stores nothing`(_ kind: Kind) throws {
        let journal = try kind.make()
        var bad = read(second: 40)
        bad.verdict = .drink(at: sampleInstant, zone: "No/Where")
        #expect(throws: (any Error).self) {
            try journal.append([read(), quarantined("implausibleTimestamp", second: 20), bad])
        }
        #expect(try reviewableRecords(journal, as: calendar).isEmpty)
        #expect(try journal.append([read(), quarantined("implausibleTimestamp", second: 20)]) == [.stored, .stored])
    }

    @Test(arguments: Kind.allCases) func `undecodable bytes are quarantined up to a limit`(_ kind: Kind) throws {
        let journal = try kind.make()
        try journal.quarantine(bottle: "A4:C1:38:00:00:01", bytes: read().raw, reason: "r", received: sampleInstant)
        #expect(try reviewableRecords(journal, as: calendar).isEmpty)
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

    @Test(arguments: Kind.allCases)
    func `the last complete poll has the time of the last trusted clock`(_ kind: Kind) throws {
        let journal = try kind.make()
        let at = { (seconds: Int64) in Instant(seconds: 1_770_000_000 + seconds) }
        func end(_ seconds: Int64, complete: Bool = true, isClockUntrusted: Bool = false) throws -> StoredBottleState {
            try journal.finishPoll(
                PollRecord(bottle: "b1", endedAt: at(seconds), complete: complete, isClockUntrusted: isClockUntrusted))
            return try journal.storedState(of: BottleNames("b1"))
        }
        #expect(try journal.storedState(of: BottleNames("b1")) == StoredBottleState())
        #expect(try end(10) == StoredBottleState(lastCompletePoll: at(10)))
        #expect(try end(20, complete: false) == StoredBottleState(lastCompletePoll: at(10)))
        // A host clock that was years ahead, trusted or not.
        #expect(try end(9_000_000, isClockUntrusted: true) == StoredBottleState(lastCompletePoll: at(10)))
        if let store = onDisk(journal) { #expect(try store.newestReceipt() == at(20)) }
        #expect(try end(9_000_000) == StoredBottleState(lastCompletePoll: at(9_000_000)))
        #expect(try end(30, complete: false) == StoredBottleState())
        #expect(try end(40) == StoredBottleState(lastCompletePoll: at(40)))
        #expect(try journal.storedState(of: BottleNames("b2")) == StoredBottleState())
        if let store = onDisk(journal) { #expect(try store.newestReceipt() == at(40)) }
        for size in [40, 30] {
            var poll = PollRecord(bottle: "b1", endedAt: at(50), complete: false, isClockUntrusted: true)
            poll.largestReading = size
            try journal.finishPoll(poll)
            #expect(try journal.storedState(of: BottleNames("b1")).largestReading == 40)
        }
    }

    @Test(arguments: Kind.allCases) func `an alias names a bottle and is not its identity`(_ kind: Kind) throws {
        let journal = try kind.make()
        // The alias is set before the first poll and removed later: no drink counts twice.
        try journal.adopt(BottleNames("A4:C1:38:00:00:01", alias: "kitchen"))
        let drinks = (0..<40).map { read(second: $0) }
        #expect(try journal.append(drinks) == Array(repeating: .stored, count: 40))
        try journal.adopt(BottleNames("A4:C1:38:00:00:01"))
        #expect(try journal.append(drinks) == Array(repeating: .duplicate, count: 40))
        #expect(try journal.append([read("kitchen")]) == [.duplicate])
        // Another bottle has its own identity, also with the same alias setting, and keeps its own alias.
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

    @Test(arguments: Kind.allCases) func `a bottle is adopted by its response, not its records`(_ kind: Kind) throws {
        let journal = try kind.make()
        func ownedBottles() throws -> [Set<String>] {
            if let store = onDisk(journal) { return try store.bottles().filter(\.isOwn).map { Set($0.names) } }
            return (journal as? MemoryJournal)?.own ?? []
        }
        // Queries, records and the end of a poll do not adopt a bottle.
        #expect(try journal.storedState(of: BottleNames("A4:C1:38:00:00:01", alias: "kitchen")) == StoredBottleState())
        #expect(try journal.append([read()]) == [.stored])
        try journal.finishPoll(
            PollRecord(bottle: "A4:C1:38:00:00:01", endedAt: sampleInstant, complete: false, isClockUntrusted: true))
        #expect(try ownedBottles() == [])
        try journal.adopt(BottleNames("A4:C1:38:00:00:02", alias: "kitchen"))
        #expect(try ownedBottles() == [["A4:C1:38:00:00:02", "kitchen"]])
        for _ in 1...2 { try journal.adopt(BottleNames("A4:C1:38:00:00:01")) }
        #expect(try Set(ownedBottles()) == [["A4:C1:38:00:00:02", "kitchen"], ["A4:C1:38:00:00:01"]])
        #expect(try journal.append([read()]) == [.duplicate])
    }

    /// The user releases the bottle between the start of a poll and the first answer.
    @Test(arguments: Kind.allCases)
    func `a bottle released during its poll is not adopted again`(_ kind: Kind) throws {
        let journal = try kind.make()
        let (old, new) = ("A4:C1:38:00:00:01", "A4:C1:38:00:00:02")
        for name in [old, new] { try journal.adopt(BottleNames(name)) }
        #expect(try journal.isOwn(old) && journal.isOwn("A4:C1:38:00:00:03"), "an unknown bottle counts as owned")
        if let store = onDisk(journal) {
            try store.releaseBottle(old)
        } else {
            (journal as? MemoryJournal)?.release(old)
        }
        var names = BottleNames(old)
        names.wasAdopted = true
        #expect(throws: ReleasedBottle(old)) { try journal.adopt(names) }
        #expect(try !journal.isOwn(old) && journal.isOwn(new))
        // A bottle that is named, or that is polled with an empty store, is adopted.
        try journal.adopt(BottleNames(old))
        #expect(try journal.isOwn(old))
    }
}
