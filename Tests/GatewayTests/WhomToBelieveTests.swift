import BottleProtocol
import Bluetooth
@testable import Gateway
import GatewaySupport
import Support
import Testing
import TrackerCore

/// Whom the gateway believes about the time, where nobody types `--trust-clock`.
@Suite struct WhomToBelieveTests {
    static let day = ClockWorld.day

    @Test(arguments: [400.0, -51, 51, -300], [true, false])
    func
        `a bottle without a clock was set by a wrong host: put right, that host is believed, and the sips are on their true days`(
            days: Double, timeServer: Bool
        ) throws
    {
        var world = ClockWorld()
        world.hasTimeServer = timeServer
        for _ in 0..<3 { world.sip() }
        world.losePower()
        world.host = days * Self.day
        // Right dates ahead of a host that is behind keep it from setting anything.
        if days > 0 {
            try world.poll()
            #expect(world.isClockSet)
            for _ in 0..<5 { world.sip() }
            try world.poll()
            for _ in 0..<4 { world.sip() }
        } else {
            try world.poll()
            #expect(!world.isClockSet && !world.isAcknowledged)
        }
        world.host = 0
        let report = try world.poll()
        #expect(report.failure == nil, "\(String(describing: report.failure))")
        #expect(world.waiting == 0 && world.isBottleRight)
        world.sip()
        try world.poll()
        #expect(world.broken.isEmpty, "\(world.broken)")
        let counted = world.journal.entries.count { if case .drink = $0.verdict { true } else { false } }
        #expect(counted == world.sips.count)
    }

    @Test(arguments: [true, false])
    func `an empty bottle set by a host that is behind: its sips move to their true days`(timeServer: Bool) throws {
        var world = ClockWorld()
        world.hasTimeServer = timeServer
        world.losePower()
        world.host = -51 * Self.day
        try world.poll()
        #expect(world.isClockSet)
        for _ in 0..<6 { world.sip() }
        try world.poll()
        #expect(world.waiting == 0)
        world.host = 0
        for _ in 0..<3 { world.sip() }
        #expect(try world.poll().failure == nil)
        #expect(world.isBottleRight && world.broken.isEmpty, "\(world.broken)")
    }

    @Test func `a computer that started with a wrong clock waits, and goes on by itself once a time server has set it`()
        throws
    {
        var world = ClockWorld()
        world.losePower()
        try world.poll()
        world.sip()
        try world.poll()
        // Another start: the bottle's clock is only what we told it, and yet nothing is dated by the new time.
        world.restart()
        world.host = -9 * Self.day
        for _ in 0..<3 { world.sip() }
        for _ in 0..<3 {
            #expect(try world.poll().failure?.kind == .clockDoubtful)
            #expect(!world.isClockSet && !world.isAcknowledged)
        }
        world.host = 0
        world.hasTimeServer = true
        #expect(try world.poll().failure == nil)
        #expect(world.waiting == 0 && world.broken.isEmpty, "\(world.broken)")
    }

    enum Later { case again, kept, taken }

    /// An adversary's clocks: a sip waited because the two clocks were nine days apart; then the phone app set the
    /// bottle right, and the sip counted by the date that its wrong clock had given it.
    @Test(
        arguments: [-9.0, 9, -51],
        [(Later.again, true), (.again, false), (.kept, true), (.kept, false), (.taken, true), (.taken, false)])
    func `a doubt outlives the bottle that is put right: the sip waits for a person, with the time at which it was`(
        days: Double, how: (later: Later, trusts: Bool)
    ) throws {
        var world = ClockWorld()
        world.setBottle(days * Self.day)
        world.sip()
        let sip = try #require(world.sips.values.first)
        #expect(try world.poll().failure?.kind == .clockDoubtful)
        #expect(world.broken.isEmpty && !world.isClockSet && !world.isAcknowledged)
        world.setBottle(0)
        switch how.later {
        case .again: break
        case .kept: try world.poll { ($0.trustsClock, $0.keep) = (how.trusts, true) }
        case .taken: world.reorder { _ in [] }
        }
        for _ in 0..<2 { try world.poll { $0.trustsClock = how.trusts } }
        #expect(world.broken.isEmpty && world.waiting == 0, "\(world.broken)")
        let entry = try #require(world.journal.entries.first)
        #expect(entry.verdict == .quarantined(reason: JournalDoubt.bottleClock), "\(entry.verdict)")
        #expect(try abs(#require(entry.about).seconds(to: sip.at)) < 120)
    }

    /// The same where the clock that found the bottle wrong was believed at once, and the bottle delivers the record
    /// once more.
    @Test(arguments: [-9.0, 9, -51])
    func `what a wrong bottle's clock wrote stays in doubt when the bottle, put right, delivers it again`(days: Double)
        throws
    {
        var world = ClockWorld()
        world.setBottle(days * Self.day)
        world.sip()
        let sip = try #require(world.sips.values.first)
        for isKept in [true, true, false, false] { try world.poll { ($0.trustsClock, $0.keep) = (true, isKept) } }
        #expect(world.broken.isEmpty && world.waiting == 0 && world.isBottleRight, "\(world.broken)")
        let entry = try #require(world.journal.entries.first)
        #expect(entry.verdict == .quarantined(reason: JournalDoubt.bottleClock), "\(entry.verdict)")
        #expect(try abs(#require(entry.about).seconds(to: sip.at)) < 120)
    }

    /// The mirror image: the bottle was right, and this computer's clock was not, until it was set in the same start.
    @Test(arguments: [-9.0, 51, -51], [true, false])
    func `what waited because of a wrong clock of this computer counts by its own date, once that clock is right`(
        days: Double, isTaken: Bool
    ) throws {
        var world = ClockWorld()
        try world.poll()
        for _ in 0..<2 { world.sip() }
        world.host = days * Self.day
        #expect(try world.poll().failure?.kind == .clockDoubtful)
        world.host = 0
        if isTaken { try world.withoutLog { try $0.poll() } }
        try world.poll()
        #expect(
            world.broken.isEmpty && world.countsAll && world.waiting == 0,
            "\(world.broken) \(world.journal.entries.map(\.verdict))")
    }

    @Test func `a time server is believed against store and bottle, after a restart too`() throws {
        var world = ClockWorld()
        world.host = 400 * Self.day
        world.losePower()
        try world.poll()
        for _ in 0..<4 { world.sip() }
        try world.poll()
        world.restart()
        world.host = 0
        #expect(try world.poll().failure?.kind != nil || !world.isClockSet)
        world.hasTimeServer = true
        #expect(try world.poll().failure == nil)
        world.sip()
        try world.poll()
        #expect(world.isBottleRight && world.waiting == 0 && world.broken.isEmpty, "\(world.broken)")
        #expect(try world.journal.recall(BottleNames("A4:C1:38:01:02:03")).clockSettings.isEmpty, "all is settled")
    }

    @Test(arguments: [-51.0, 51, 400], [true, false])
    func `a host that somebody set wrong outvotes no bottle that has a clock of its own`(days: Double, timeServer: Bool)
        throws
    {
        var world = ClockWorld()
        world.hasTimeServer = timeServer
        for _ in 0..<3 { world.sip() }
        try world.poll()
        world.host = days * Self.day
        for _ in 0..<3 { world.sip() }
        for _ in 0..<2 {
            #expect(try world.poll().failure?.kind == .clockDoubtful)
            #expect(!world.isClockSet && !world.isAcknowledged)
        }
        world.host = 0
        #expect(try world.poll().failure == nil)
        #expect(world.waiting == 0 && world.broken.isEmpty, "\(world.broken)")
    }

    /// Chaos, seed 26: the poll had failed because of the clock, and what follows a failed poll dated records without a
    /// year by it.
    @Test(arguments: [-20_000.0, 400], [true, false])
    func `after a poll that failed nothing is dated by a clock that nobody believed`(days: Double, knowsBoot: Bool)
        throws
    {
        let journal = MemoryJournal()
        let strict = { (host: ClockMark) in options { ($0.dialect, $0.host) = (.strict, host) } }
        let bottle = BottleNames("A4:C1:38:01:02:03")
        _ = try journal.recall(bottle)
        let raw = record(minute: 20, amount: 100)
        let waiting = JournalEntry(
            bottle: bottle.identity, raw: raw, wall: nil, amountMl: 100,
            received: evening.advanced(seconds: days * Self.day),
            verdict: .quarantined(reason: JournalDoubt.hostClock), reading: "strict/u8")
        _ = try journal.append([waiting])
        func look(_ seconds: Double) throws -> Int {
            let wall = evening.advanced(seconds: seconds)
            let mark = ClockMark(wall: wall, boot: knowsBoot ? 1 : nil, uptime: 1_000_000)
            return try SecondLook.run(journal, bottles: [bottle.identity], options: strict(mark), now: wall).count
        }
        #expect(try look(days * Self.day) == 0)
        // Believed once: a clock that goes on from there dates, one that was set since does not; nor does one that is
        // far off after a restart.
        let believed = ClockMark(wall: evening, boot: knowsBoot ? 1 : nil, uptime: 999_000)
        try journal.finishPoll(PollRecord(bottle: bottle.identity, endedAt: evening, complete: true, clock: believed))
        #expect(try look(days * Self.day) == 0)
        #expect(try look(1) == 1)
        let entry = try #require(journal.entries.first)
        guard case .drink(let at, _) = entry.verdict else { Issue.record("not counted: \(entry)"); return }
        #expect(at.seconds(to: evening) < Self.day)
    }

    @Test func `a clock that is set in the middle of a poll counts from the next one on`() throws {
        var engine = GatewayEngine(options: options(), linkName: "unix:test.sock", hasRadio: false)
        let start = MonotonicInstant(nanoseconds: 0)
        _ = engine.handle(.start, at: start, wall: evening)
        let effects = engine.handle(
            .cancel, at: start.advanced(by: .seconds(1)), wall: evening.advanced(seconds: 400 * Self.day))
        let reports = effects.compactMap { if case .done(let report) = $0 { report } else { nil } }
        #expect(reports.first?.endedAt == evening.advanced(seconds: 1))
    }

    /// Chaos, seed 9, on a busy machine: the bottle's answer about its clock came too late, and its records had no
    /// year.
    @Test(arguments: [-300.0, -51, 400, -20_000], [true, false])
    func `a record without a year takes none from a clock that was set since, while the bottle does not show its own`(
        days: Double, timeServer: Bool
    ) throws {
        var world = ClockWorld()
        (world.hasTimeServer, world.isYearless, world.dialect) = (timeServer, true, .strict)
        world.sip()
        #expect(try world.poll().failure == nil)
        world.host = days * Self.day
        for showsClock in [false, true, false] {
            world.sip()
            world.showsClock = showsClock
            #expect(try world.poll().failure?.kind == .clockDoubtful)
            #expect(!world.isClockSet && !world.isAcknowledged)
        }
        world.host = 0
        #expect(try world.poll().failure == nil)
        #expect(world.waiting == 0 && world.broken.isEmpty, "\(world.broken)")
    }

    /// Not in a poll of records with a year either: what waits in the store without one stays as it is.
    @Test func `a second look gives no year by a clock that was set since`() throws {
        var world = ClockWorld()
        world.sip()
        try world.poll()
        world.host = -300 * Self.day
        for _ in 0..<3 { world.sip() }
        #expect(try world.poll().failure?.kind == .clockDoubtful)
        (world.dialect, world.showsClock) = (.strict, false)
        #expect(try world.poll().failure?.kind == .clockDoubtful)
        world.losePower()
        world.host = 0
        (world.dialect, world.showsClock) = (.calendar, true)
        try world.poll()
        #expect(world.waiting == 0 && world.broken.isEmpty, "\(world.broken)")
    }

    @Test func `what was given a wrong year moves when the record's own year is read`() throws {
        let journal = MemoryJournal()
        let raw = record(minute: 20, amount: 100)
        func poll(_ dialect: BottleProtocol.RecordDialect, days: Double, records: [[UInt8]] = []) throws -> Instant? {
            var rig = EngineRig(
                options: options { $0.dialect = dialect }, peer: ScriptedBottle(records: records), journal: journal,
                start: evening.advanced(seconds: days * Self.day))
            try rig.run()
            return journal.entries.lazy.compactMap { if case .drink(let at, _) = $0.verdict { at } else { nil } }.first
        }
        let wrong = try #require(try poll(.strict, days: -300, records: [raw]))
        #expect(wrong.seconds(to: evening) > 360 * Self.day)
        // By a clock that is too far off for that year it stays, and is tried again.
        #expect(try poll(.calendar, days: -30) == wrong)
        let right = try #require(try poll(.calendar, days: 0))
        #expect(right.seconds(to: evening) < Self.day)
    }

    @Test(arguments: [3.0, -3, 51], [true, false])
    func `a clock that only repeats itself outvotes no bottle`(days: Double, timeServer: Bool) throws {
        var world = ClockWorld()
        world.hasTimeServer = timeServer
        world.host = days * Self.day
        // The first polls do not hear of the bottle's clock.
        world.showsClock = false
        for _ in 0..<2 { try world.poll() }
        for _ in 0..<2 { world.sip() }
        world.showsClock = true
        #expect(try world.poll().failure?.kind == .clockDoubtful)
        #expect(!world.isClockSet && !world.isAcknowledged && world.isBottleRight)
        world.host = 0
        #expect(try world.poll().failure == nil)
        #expect(world.waiting == 0 && world.broken.isEmpty, "\(world.broken)")
    }

    @Test(arguments: [-0.2, -0.45, -0.9], [true, false])
    func `a host that lost hours sets no bottle's clock while the log goes with the bottle's`(
        days: Double, isRestarted: Bool
    ) throws {
        var world = ClockWorld()
        world.sip()
        try world.poll()
        world.pass(86_400)
        if isRestarted { world.restart() }
        world.host = days * Self.day
        for _ in 0..<2 {
            world.sip()
            let report = try world.poll()
            #expect(report.failure == nil && !world.isClockSet && world.isBottleRight)
        }
        #expect(world.warnings.contains { $0.contains("no clock is set") }, "\(world.warnings)")
        // A time server's word is another thing, and so is a clock that is right again.
        world.host = 0
        world.setBottle(5 * 3600)
        world.hasTimeServer = true
        world.sip()
        try world.poll()
        #expect(world.isClockSet && world.isBottleRight && world.waiting == 0)
    }

    @Test(arguments: [-7200.0, 40_000])
    func `a clock that was set by hours sets no bottle that still shows what both showed before`(seconds: Double) throws
    {
        var world = ClockWorld()
        try world.poll()
        world.host = seconds
        for showsClock in [true, false, true] {
            world.showsClock = showsClock
            try world.poll()
            #expect(!world.isClockSet && world.isBottleRight)
        }
        world.host = 0
        #expect(try world.poll().failure == nil)
        #expect(world.isBottleRight && world.broken.isEmpty)
    }

    @Test(arguments: [-7200.0, 40_000])
    func `a bottle that a wrong host has set by hours is no witness for it`(seconds: Double) throws {
        var world = ClockWorld()
        world.host = seconds
        try world.poll()
        #expect(world.isClockSet)
        world.host = 0
        world.sip()
        try world.poll()
        #expect(world.isClockSet && world.isBottleRight && world.waiting == 0)
    }

    /// Simulation, seed 2403.
    @Test(arguments: [72.0, -72], [true, false])
    func `a bottle that was set by minutes, or by a clock that somebody agreed with, stays a witness`(
        days: Double, wasLost: Bool
    ) throws {
        var world = ClockWorld()
        try world.poll()
        if wasLost { world.losePower() } else { world.setBottle(-1071) }
        try world.poll()
        #expect(world.isClockSet && world.isBottleRight)
        world.host = days * Self.day
        for _ in 0..<2 {
            world.sip()
            try world.poll()
            #expect(!world.isClockSet && world.isBottleRight && !world.isAcknowledged)
        }
        world.host = 0
        #expect(try world.poll().failure == nil)
        #expect(world.waiting == 0 && world.broken.isEmpty, "\(world.broken)")
    }

    /// Simulation, seeds 2186, 4729 and 4857.
    @Test(arguments: [26.0, -66]) func `a poll by a wrong clock leaves no wrong day, wherever it is killed`(
        days: Double
    ) throws {
        for effects in 1...70 {
            var world = ClockWorld()
            world.losePower()
            try world.poll()
            for _ in 0..<3 { world.sip() }
            world.host = days * Self.day
            try world.poll(killAfter: effects)
            world.host = 0
            for _ in 0..<2 { try world.poll() }
            #expect(
                world.waiting == 0 && world.isBottleRight && world.broken.isEmpty,
                "killed after \(effects) effects: \(world.broken)")
        }
    }

    @Test(arguments: [200.0, 280, -280, -3600]) func `what clocks drift is mended by a host that nobody vouches for`(
        drift: Double
    ) throws {
        var world = ClockWorld()
        world.setBottle(drift)
        world.sip()
        try world.poll()
        #expect(world.isClockSet && world.isBottleRight && world.waiting == 0)
    }

    /// A Raspberry Pi that nobody has told the time meets the bottle: each record takes its year from that clock.
    @Test(arguments: [-200.0, -300, 400, 500, 800], [true, false])
    func `a year from a clock that nobody agreed with is taken again once somebody agrees with one`(
        days: Double, isRestarted: Bool
    ) throws {
        for effects in [nil, 20, 30, 34, 38, 42, 46, 50] as [Int?] {
            var world = ClockWorld()
            (world.isYearless, world.dialect, world.showsClock, world.host) = (true, .strict, false, days * Self.day)
            for _ in 0..<2 {
                for _ in 0..<2 { world.sip() }
                try world.poll()
            }
            #expect(world.waiting == 0 && world.broken.count == 4, "\(world.broken)")
            world.pass(3600)
            if isRestarted { world.restart() }
            (world.host, world.hasTimeServer) = (0, true)
            world.sip()
            // Wherever that poll is killed.
            if let effects { try world.poll(killAfter: effects) }
            #expect(try world.poll().failure == nil)
            #expect(
                world.waiting == 0 && world.broken.isEmpty,
                "killed after \(String(describing: effects)): \(world.broken)")
        }
    }

    @Test(arguments: [0.0, 5, 400], [true, false])
    func `a year from a clock that was right stays, however late somebody agrees with it`(
        days: Double, isRestarted: Bool
    ) throws {
        var world = ClockWorld()
        (world.isYearless, world.dialect, world.showsClock) = (true, .strict, false)
        var polls = 0
        repeat {
            world.sip()
            try world.poll()
            world.pass(30 * Self.day)
            polls += 1
        } while Double(polls * 30) < days
        if isRestarted { world.restart() }
        world.hasTimeServer = true
        #expect(try world.poll().failure == nil)
        #expect(world.waiting == 0 && world.broken.isEmpty, "\(world.broken)")
    }

    @Test func `a person who vouches for the clock has the years taken again`() throws {
        var world = ClockWorld()
        (world.isYearless, world.dialect, world.showsClock, world.host) = (true, .strict, false, -300 * Self.day)
        world.sip()
        try world.poll()
        world.restart()
        world.host = 0
        #expect(world.broken.count == 1)
        try world.poll { $0.trustsClock = true }
        #expect(world.broken.isEmpty, "\(world.broken)")
    }

    @Test(arguments: [-0.2, -0.45, 0.3], [true, false])
    func `a restarted host that lost hours sets no bottle whose clock was right, though nothing else shows the time`(
        days: Double, timeServer: Bool
    ) throws {
        var world = ClockWorld()
        world.hasTimeServer = timeServer
        world.sip()
        for _ in 0..<2 { try world.poll() }
        world.pass(2 * Self.day)
        world.restart()
        (world.host, world.hasTimeServer) = (days * Self.day, false)
        for _ in 0..<2 {
            #expect(try world.poll().failure == nil)
            #expect(!world.isClockSet && world.isBottleRight)
            #expect(world.warnings.contains { $0.contains("no clock is set") }, "\(world.warnings)")
        }
        world.host = 0
        world.sip()
        #expect(try world.poll().failure == nil)
        #expect(world.warnings.isEmpty && world.waiting == 0 && world.broken.isEmpty, "\(world.warnings)")
        // A person's word is enough.
        world.restart()
        world.setBottle(5 * 3600)
        try world.poll()
        #expect(!world.isClockSet)
        try world.poll { $0.trustsClock = true }
        #expect(world.isClockSet && world.isBottleRight)
    }

    /// Nobody vouches for anything, the computer is started in between, and yet a bottle's clock is kept right.
    @Test(arguments: ["Europe/Berlin", "America/New_York", "Asia/Kathmandu"])
    func `travel, a change to summer time, a new battery and months of drift are no loss of hours`(zone: String) throws
    {
        let zone = try Zone(zone)
        var world = ClockWorld()
        for _ in 0..<2 { try world.poll() }
        world.restart()
        // The traveller's computer shows another zone, the bottle still the old one.
        try world.poll { $0.zone = zone }
        #expect(world.isClockSet)
        for _ in 0..<2 { try world.poll { $0.zone = zone } }
        // Summer time, or nothing where there is none.
        world.pass(120 * Self.day)
        world.restart()
        for _ in 0..<2 { try world.poll { $0.zone = zone } }
        #expect(world.bottle(shows: zone))
        world.setBottle(Double(zone.offsetSeconds(at: world.truth)) - 500)
        world.pass(90 * Self.day)
        world.restart()
        for _ in 0..<2 { try world.poll { $0.zone = zone } }
        #expect(world.bottle(shows: zone))
        world.losePower()
        world.restart()
        try world.poll { $0.zone = zone }
        #expect(world.bottle(shows: zone))
    }

    /// Simulation, seed 205432: it was noted that the bottle's clock was set right, and that never arrived: it went on
    /// by the wrong one. However often that happens, and however long the bottle goes on so.
    @Test(arguments: [-77.0, 77, -300], [(1, 0.0), (3, 0), (1, 3), (2, 30)])
    func `a setting that never reached the bottle moves no drink`(days: Double, lost: (times: Int, days: Double)) throws
    {
        var world = ClockWorld()
        // Nobody but this computer's clock has ever shown the time.
        world.losePower()
        try world.poll()
        world.host = days * Self.day
        try world.poll()
        #expect(world.isClockSet)
        world.host = 0
        world.hearsClock = false
        for _ in 0..<lost.times {
            try world.poll()
            world.sip()
            world.pass(lost.days * Self.day)
            world.sip()
        }
        world.hearsClock = true
        try world.poll()
        #expect(world.broken.isEmpty && world.waiting == 0, "\(world.broken)")
        try world.poll()
        #expect(world.isBottleRight && world.countsAll, "\(world.journal.entries)")
    }

    /// Nor over a restart: there only a time server tells by how much the clock of before was wrong.
    @Test(arguments: [-77.0, 77, -300], [0.0, 3])
    func `a setting that never reached the bottle after a restart moves no drink`(days: Double, later: Double) throws {
        var world = ClockWorld()
        world.losePower()
        try world.poll()
        world.host = days * Self.day
        try world.poll()
        #expect(world.isClockSet)
        world.restart()
        (world.host, world.hasTimeServer, world.hearsClock) = (0, true, false)
        try world.poll()
        #expect(world.isClockSet, "and it is noted, and never arrives")
        world.pass(later * Self.day)
        world.sip()
        world.hearsClock = true
        try world.poll()
        #expect(
            world.isBottleRight && world.broken.isEmpty && world.countsAll && world.waiting == 0,
            "\(world.broken) \(world.journal.entries)")
    }

    /// The bottle wrote it by a wrong clock of this computer's, and was set by somebody else since, to a time that this
    /// one does not share.
    @Test(arguments: [-77.0, 77]) func `by how much an echo was wrong nobody says who may be wrong himself`(
        days: Double
    ) throws {
        var world = ClockWorld()
        world.losePower()
        try world.poll()
        world.host = days * Self.day
        try world.poll()
        #expect(world.isClockSet)
        world.sip()
        world.host = 0
        world.setBottle(-40 * Self.day)
        try world.poll()
        #expect(world.broken.isEmpty, "it waits: \(world.broken)")
        world.setBottle(0)
        for _ in 0..<2 { try world.poll() }
        #expect(world.broken.isEmpty && world.waiting == 0, "\(world.broken)")
        #expect(world.countsAll, "\(world.journal.entries)")
    }

    /// Random histories: clocks set right and wrong at will, power lost, answers about the bottle's clock and what sets
    /// it lost, polls killed, the dialect changed, sips and polls in between. At the end the computer is right, and
    /// then everything is. Where no record has a year, the first poll is by a right clock: one that was wrong from the
    /// beginning, told so by nobody, tells a wrong year, and nothing shows it.
    @Test(arguments: 0..<160) func `whatever the clocks did, in the end every sip is on its day or told as doubtful`(
        seed: Int
    ) throws {
        var random = SeededGenerator(seed: UInt64(seed) &+ 77)
        var apart = SeededGenerator(seed: ~UInt64(seed))
        var world = ClockWorld()
        world.hasTimeServer = seed % 4 == 0
        world.isYearless = seed % 3 == 0
        if world.isYearless {
            world.dialect = .strict
            try world.poll()
        }
        var history: [String] = []
        for _ in 0..<60 {
            switch Int.random(in: 0..<19, using: &random) {
            case 0..<6:
                world.sip()
                history.append("sip")
            case 6..<11:
                world.showsClock = Int.random(in: 0..<4, using: &random) > 0
                world.hearsClock = Int.random(in: 0..<4, using: &apart) > 0
                let killed = Int.random(in: 0..<8, using: &apart) == 0 ? Int.random(in: 1...60, using: &apart) : nil
                let report = try world.poll(killAfter: killed)
                let result = killed.map { "killed after \($0)" } ?? report.failure.map { "\($0.kind)" } ?? "ok"
                history.append(
                    """
                    poll\(world.showsClock ? "" : " blind")\(world.hearsClock ? "" : " deaf") \
                    \(result)\(world.isClockSet ? " sets" : "")
                    """
                )
            case 11:
                world.host =
                    [51.0, -51, 400, -300, 3, -3, -20_000, 0.45, -0.2].randomElement(using: &random)! * Self.day
                history.append("host \(world.host / Self.day)")
            case 12...13:
                world.host = 0
                history.append("host right")
            case 14:
                world.losePower()
                history.append("power lost")
            case 15:
                if !world.isYearless { world.dialect = [.strict, .calendar].randomElement(using: &random)! }
                history.append("\(world.dialect)")
            default:
                let days = Int.random(in: 0..<6, using: &apart) == 0 ? Double.random(in: 0...4, using: &apart) : 0
                world.pass(Double.random(in: 60...7200, using: &random) + days * Self.day)
                history.append("passes \(days)")
            }
        }
        world.host = 0
        (world.showsClock, world.hearsClock) = (true, true)
        if !world.isYearless { world.dialect = .calendar }
        var last: PollReport?
        for _ in 0..<3 { last = try world.poll() }
        let name = "seed \(seed)\(world.isYearless ? ", no year" : "")\(world.hasTimeServer ? ", time server" : "")"
        #expect(
            last?.failure == nil && world.waiting == 0,
            "\(name): \(String(describing: last?.failure)), \(world.waiting) wait: \(history)")
        #expect(world.isBottleRight, "\(name): \(history)")
        #expect(world.broken.isEmpty, "\(name): \(world.broken): \(history)")
    }

    /// Simulation, seeds 3561955 and 3843809: what a bottle wrote by a right clock of its own waited as pieces in the
    /// store when it was set by this computer. Then this computer's clock was set by a month, and what came again was
    /// taken for written since, and moved by that month.
    @Test(arguments: [35.0, -63])
    func `what waits in the store since before the bottle's clock was set was not written by it`(days: Double) throws {
        var world = ClockWorld()
        for _ in 0..<4 { world.sip() }
        let pieces = world.records.map { raw in
            JournalEntry(
                bottle: "A4:C1:38:01:02:03", raw: raw, wall: nil, amountMl: Int(raw[6]) << 8 | Int(raw[7]),
                received: world.truth,
                verdict: .quarantined(reason: JournalDoubt.pieced), reading: "calendar/u16be")
        }
        _ = try world.journal.append(pieces)
        world.losePower()
        try world.withoutLog { try $0.poll() }
        #expect(world.isClockSet)
        world.host = days * Self.day
        for _ in 0..<2 {
            try world.poll()
            world.sip()
        }
        world.host = 0
        try world.poll()
        // What lies ahead of a clock of which nobody knows better waits for a person.
        let broken = world.broken.filter { days > 0 || !$0.contains("waits") }
        #expect(broken.isEmpty, "\(broken)")
    }

    /// Simulation, seed 3800784: the bottle was weeks behind, and a frame of its log was overtaken by the next. What
    /// goes back in time is as a rule written by a clock that did; this was older than the records before it by
    /// minutes, and waited for a person.
    @Test func `a frame that was overtaken went by no other clock`() throws {
        var world = ClockWorld()
        world.hasTimeServer = true
        for _ in 0..<9 {
            world.pass(3600)
            world.sip()
        }
        world.setBottle(-18 * Self.day)
        for _ in 0..<2 { world.sip() }
        world.reorder { Array($0[..<3] + $0[6..<9] + $0[3..<6] + $0[9...]) }
        try world.poll()
        // The last two are of the clock that is behind, and of the nine all count.
        let counted = world.journal.entries.filter { if case .drink = $0.verdict { true } else { false } }.map(
            \.amountMl)
        #expect(Set(counted) == Set(10..<19), "\(counted)")
    }

    @Test(
        arguments: [
            ([0, 1, 2, 6, 7, 8, 3, 4, 5], [6, 7, 8]), ([0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10], [6, 7, 8]),
            ([0, 4, 8, 5, 6, 1, 2, 9], [3, 4, 5, 6]),
            // A clock went back: all that follow, before the first, between no two, or on beyond the gap.
            ([3, 4, 5, 0, 1, 2], []), ([0, 4, 8, 1, 2, 5, 6], []), ([0, 4, 8, 5, 6, 7, 2, 9], [3, 4, 5, 6]),
            ([5, 6, 0, 7], []), ([], []), ([1], []),
        ] as [([Int], [Int])])
    func `an overtaken frame fits between two records`(_ hours: [Int], _ places: [Int]) {
        #expect(
            LogOrder.overtaken(hours.map { evening.advanced(seconds: Double($0) * 3600 * 3) }, jump: 7200) == places)
    }

    /// An adversary's finding: another app set the bottle's clock nine days ahead for a while. What it wrote then
    /// waited, and counted nine days later, on a day after that on which it was received.
    @Test(arguments: [true, false]) func `what lay days ahead when it was received does not become true by waiting`(
        timeServer: Bool
    ) throws {
        var world = ClockWorld()
        world.hasTimeServer = timeServer
        world.sip()
        try world.poll()
        world.setBottle(9 * Self.day)
        world.sip()
        world.setBottle(0)
        world.sip()
        try world.poll()
        for _ in 0..<3 {
            world.pass(5 * Self.day)
            world.sip()
            try world.poll()
            let waiting = world.journal.entries.filter { if case .quarantined = $0.verdict { true } else { false } }
            #expect(waiting.map(\.amountMl) == [11], "\(world.journal.entries.map(\.verdict))")
        }
    }

    /// Law A2, rule 5: by the moment by which it was too far ahead it may be late.
    @Test func `what was a moment too far ahead counts a moment later`() throws {
        var world = ClockWorld()
        world.setBottle(Self.day + 60)
        world.sip()
        world.setBottle(0)
        try world.poll()
        #expect(!world.countsAll)
        world.pass(3600)
        try world.poll()
        #expect(world.countsAll)
    }

    /// An adversary's finding: a bottle three days behind, met by an empty store, counted its sips three days ago
    /// without a word.
    @Test(arguments: [-3.0, -51]) func `what a slow bottle wrote just now is doubted by an empty store, too`(
        days: Double
    ) throws {
        var world = ClockWorld()
        world.hasTimeServer = true
        world.setBottle(days * Self.day)
        for _ in 0..<2 { world.sip() }
        let report = try world.poll()
        #expect(report.suspect == 2 && !world.countsAll && world.isClockSet)
        world.sip()
        try world.poll()
        let counted = world.journal.entries.filter { if case .drink = $0.verdict { true } else { false } }
        #expect(counted.map(\.amountMl) == [12])
    }

    /// Simulation, seed 5551000: what a bottle wrote after its clock was put right, in the same poll, is right.
    @Test func `a clock that was put right in this poll is wrong no more`() {
        for (day, drift, isDoubted) in [
            (2, 0, false), (2, -1, false), (2, -3 * 86_400, false), (1, -36 * 3600, true), (1, -1, false),
        ] {
            let raw: [UInt8] = [26, 2, UInt8(day), 22, 29, 0, 1, 44, 0, 0, 1, 97, 0]
            var dating = RecordDating(
                bottle: "b", options: options(), received: evening, clock: .bottleIsWrong, drift: drift)
            let verdict = dating.date(raw).verdict
            #expect(
                (verdict == .quarantined(reason: JournalDoubt.bottleClock)) == isDoubted,
                "day \(day), \(drift) s: \(verdict)")
        }
    }

    /// Wrong clocks, two computers, seed 7004: another computer had set the bottle 19 days behind, longer ago than that
    /// was this store's last whole poll, and the bottle's fresh sips passed for old ones.
    @Test(arguments: [(19.0, 280.0), (19, 30), (3, 5)], [true, false])
    func `what a slow bottle wrote just now is doubted also where nobody has read it for longer`(
        days: (behind: Double, unread: Double), isPersonSure: Bool
    ) throws {
        var world = ClockWorld()
        world.hasTimeServer = !isPersonSure
        try world.poll()
        world.pass(days.unread * Self.day)
        world.setBottle(-days.behind * Self.day)
        for _ in 0..<4 { world.sip() }
        let report = try world.poll { $0.trustsClock = isPersonSure }
        #expect(report.suspect == 4 && !world.countsAll && world.isClockSet, "\(report.suspect)")
        #expect(world.broken.isEmpty, "\(world.broken)")
    }

    /// The other way about: what was made well before the time that the bottle shows, it wrote with a right clock.
    @Test func `what lies between the last poll and the time that a slow bottle shows counts`() throws {
        var world = ClockWorld()
        world.hasTimeServer = true
        try world.poll()
        world.pass(10 * Self.day)
        for _ in 0..<3 { world.sip() }
        world.pass(30 * Self.day)
        world.setBottle(-19 * Self.day)
        let report = try world.poll()
        #expect(report.suspect == 0 && world.countsAll && world.isClockSet)
    }

    /// Simulation, seed 8632395: a dump began anew in the middle. What came once more went back in time, no clock did,
    /// and the sip behind it waited for a person.
    @Test(arguments: [1, 5, 8]) func `a dump that begins anew in the middle is no clock that went back`(sent: Int)
        throws
    {
        var world = ClockWorld()
        world.hasTimeServer = true
        for _ in 0..<9 {
            world.pass(3 * 3600)
            world.sip()
        }
        world.setBottle(-43 * Self.day)
        world.reorder { Array($0[..<sent]) + $0 }
        let report = try world.poll()
        #expect(report.suspect == 0 && world.countsAll && world.isClockSet, "\(report.suspect)")
    }

    /// Chaos, seed 61: eleven hours by a clock that was set back since and thirteen by a journey are a day and seven
    /// minutes, and no poll was ever whole again.
    @Test(
        arguments: [(40_000.0, 14.0, 1.0), (-40_000, 1, 14), (40_000, 12, -10), (-40_000, -10, 12), (7200, 14, 1)],
        [1, 2, 3])
    func `what a bottle was told in another zone is known to the minute, and so is what it shows now`(
        told: (hours: Double, there: Double, here: Double), settings: Int
    ) throws {
        let (hours, there, here) = (told.hours, try Zone(Self.fixed(told.there)), try Zone(Self.fixed(told.here)))
        var world = ClockWorld()
        world.losePower()
        for number in 0..<settings {
            world.host = number.isMultiple(of: 2) == settings.isMultiple(of: 2) ? 0 : hours
            try world.poll { $0.zone = there }
            #expect(world.isClockSet, "setting \(number)")
            for _ in 0..<3 { world.sip() }
        }
        try arrive(&world, in: here)
    }

    @Test(arguments: [-51.0, 51, 400, -2], [(14.0, 1.0), (1, 14), (-10, 12)])
    func `a bottle that a wrong host set in another zone is that host's echo all the same`(
        days: Double, zones: (there: Double, here: Double)
    ) throws {
        let (there, here) = (try Zone(Self.fixed(zones.there)), try Zone(Self.fixed(zones.here)))
        var world = ClockWorld()
        world.losePower()
        world.host = days * Self.day
        try world.poll { $0.zone = there }
        #expect(world.isClockSet)
        for _ in 0..<3 { world.sip() }
        try world.poll { $0.zone = there }
        try arrive(&world, in: here)
    }

    /// Some sips on the way, a host whose clock is right again in another zone, and the first days there.
    private func arrive(_ world: inout ClockWorld, in here: Zone) throws {
        for _ in 0..<3 { world.sip() }
        world.host = 0
        let report = try world.poll { $0.zone = here }
        #expect(report.failure == nil && world.waiting == 0, "\(String(describing: report.failure))")
        #expect(world.bottle(shows: here))
        for _ in 0..<3 { world.sip() }
        try world.poll { $0.zone = here }
        #expect(world.broken.isEmpty && world.countsAll, "\(world.broken)")
    }

    /// POSIX's sign: west of Greenwich is plus.
    private static func fixed(_ hoursEast: Double) -> String {
        "Etc/GMT\(hoursEast < 0 ? "+" : "-")\(Int(abs(hoursEast)))"
    }
}
