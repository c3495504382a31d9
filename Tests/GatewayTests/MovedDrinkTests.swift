import Gateway
import GatewaySupport
import Support
import Testing
import TrackerCore

/// Which clock may move a drink that counts, and what becomes of one that cannot have been drunk yet (tracker law A2,
/// rule 5).
@Suite struct MovedDrinkTests {
    static let day = ClockWorld.day

    private func counted(_ world: ClockWorld) -> [Int: Instant] {
        var found: [Int: Instant] = [:]
        for entry in world.journal.entries {
            if case .drink(let at, _) = entry.verdict { found[entry.amountMl] = at }
        }
        return found
    }

    @Test(arguments: [51.0, -51, 400])
    func `a lone clock that jumped moves no drink that was dated while somebody agreed`(days: Double) throws {
        var world = ClockWorld()
        // The bottle has the time of its own: a witness.
        try world.poll()
        world.losePower()
        try world.poll()
        #expect(world.isClockSet)
        for _ in 0..<4 { world.sip() }
        try world.poll()
        let before = counted(world)
        #expect(before.count == 4 && world.broken.isEmpty)
        world.host = days * Self.day
        for _ in 0..<3 {
            world.losePower()
            try world.poll()
            #expect(counted(world).filter { before[$0.key] != nil } == before, "\(world.broken)")
            world.sip()
        }
        world.host = 0
        for _ in 0..<2 { try world.poll() }
        #expect(world.broken.isEmpty && world.waiting == 0, "\(world.broken)")
    }

    /// Simulation, seed 2594: set by a clock that somebody agreed with, read first by one that has jumped since and
    /// stands alone.
    @Test(arguments: [4.0, -4, 51])
    func `what a bottle wrote by a clock that somebody agreed with is right, whoever reads it first`(days: Double)
        throws
    {
        var world = ClockWorld()
        try world.poll()
        world.losePower()
        try world.poll()
        #expect(world.isClockSet)
        for _ in 0..<2 { world.sip() }
        world.host = days * Self.day
        try world.poll()
        world.host = 0
        for _ in 0..<2 { try world.poll() }
        #expect(world.broken.isEmpty && world.waiting == 0, "\(world.broken)")
    }

    /// A simulation with processes, seed 101: 200 settings in an hour, no time server.
    @Test(arguments: [51.0, -300])
    func `what a lone clock moved it moves back, however often the bottle's clock was set in between`(days: Double)
        throws
    {
        var world = ClockWorld()
        world.losePower()
        try world.poll()
        for _ in 0..<4 { world.sip() }
        try world.poll()
        for _ in 0..<100 {
            world.host = world.host == 0 ? days * Self.day : 0
            world.losePower()
            try world.poll()
        }
        #expect(world.host == 0 && world.broken.isEmpty, "\(world.broken)")
    }

    @Test(arguments: [true, false], [51.0, 3])
    func `a drink that counts ahead of a clock that is vouched for goes to its true day, or back to doubt`(
        timeServer: Bool, days: Double
    ) throws {
        var world = ClockWorld()
        world.losePower()
        world.host = days * Self.day
        for _ in 0..<2 {
            try world.poll()
            #expect(world.isClockSet)
            for _ in 0..<3 { world.sip() }
            try world.poll()
            world.losePower()
        }
        try world.poll()
        #expect(world.broken.count == 6 && world.waiting == 0)
        // Over a restart nobody knows what the bottle's clock showed before it was set last.
        world.restart()
        (world.host, world.hasTimeServer) = (0, timeServer)
        try world.poll { $0.trustsClock = !timeServer }
        #expect(world.broken.isEmpty, "\(world.broken)")
        #expect(
            world.warnings.contains { $0.contains("6 drinks") && $0.contains("count nowhere") }, "\(world.warnings)")
        let doubted = world.journal.entries.filter { $0.verdict == .quarantined(reason: JournalDoubt.bottleClock) }
        #expect(doubted.count == 6 && world.sips.count == 6)
        // That is for good: time catches up with the date, and it is wrong all the same.
        world.pass((days + 2) * Self.day)
        try world.poll { $0.trustsClock = !timeServer }
        #expect(world.broken.isEmpty && counted(world).isEmpty, "\(world.broken)")
    }

    /// An adversary's clocks, seed 1338: a computer four days behind set a bottle that had lost its clock, and months
    /// and a restart later a person vouched for the clock. What still lay in the bottle went to its true day; what had
    /// been taken before stayed four days off for good.
    @Test(arguments: [true, false], [-4.0, 8, -96])
    func
        `what a bottle wrote by a wrong setting goes to its true day over a restart, once a server or a person vouches for the clock`(
            timeServer: Bool, days: Double
        ) throws
    {
        var world = ClockWorld()
        world.losePower()
        world.host = days * Self.day
        try world.poll()
        #expect(world.isClockSet)
        for _ in 0..<3 { world.sip() }
        try world.poll()
        #expect(world.broken.count == 3 && world.waiting == 0)
        world.restart()
        world.pass(30 * Self.day)
        for _ in 0..<2 { world.sip() }
        (world.host, world.hasTimeServer) = (0, timeServer)
        try world.poll { $0.trustsClock = !timeServer }
        #expect(
            world.broken.isEmpty && world.countsAll && world.waiting == 0,
            "\(world.broken) \(world.journal.entries.map(\.verdict))")
        #expect(world.isBottleRight)
    }

    /// An adversary's clocks: a lone clock jumped, took the bottle that it had set rightly for its echo, and moved two
    /// drinks by 128 days. After a restart nobody put them back, though the bottle, which it had set wrong since,
    /// showed by how much it had been.
    @Test(arguments: [-128.0, 51, -3], [(true, true), (true, false), (false, true), (false, false)])
    func
        `what a lone clock moved after it had jumped goes back over a restart, once a server or a person finds the bottle wrong by that jump`(
            days: Double, how: (timeServer: Bool, keep: Bool)
        ) throws
    {
        let (timeServer, keep) = how
        var world = ClockWorld()
        world.losePower()
        try world.poll()
        for _ in 0..<3 { world.sip() }
        try world.poll()
        world.sip()
        world.host = days * Self.day
        try world.poll { $0.keep = keep }
        #expect(world.isClockSet && world.broken.count == 4)
        world.pass(Self.day)
        world.sip()
        world.restart()
        (world.host, world.hasTimeServer) = (0, timeServer)
        for _ in 0..<2 { try world.poll { $0.trustsClock = !timeServer } }
        #expect(
            world.broken.isEmpty && world.countsAll && world.waiting == 0,
            "\(world.broken) \(world.journal.entries.map(\.verdict))")
        #expect(world.isBottleRight)
    }

    /// What was set last may never have reached the bottle: then it shows what it was told before, and nothing is moved
    /// by a sum that only seems to say more.
    @Test(arguments: [-128.0, 51, -3])
    func `a setting that never reached the bottle puts nothing back, and moves nothing`(days: Double) throws {
        var world = ClockWorld()
        world.losePower()
        try world.poll()
        for _ in 0..<3 { world.sip() }
        try world.poll()
        let before = counted(world)
        world.host = days * Self.day
        world.hearsClock = false
        try world.withoutLog { try $0.poll() }
        let after = counted(world)
        world.hearsClock = true
        world.restart()
        (world.host, world.hasTimeServer) = (0, true)
        for _ in 0..<2 { try world.poll() }
        #expect((counted(world) == after || counted(world) == before) && before.count == 3, "\(world.broken)")
    }

    /// Chaos seed 303: a lone clock and the store it had filled agreed against a bottle that the phone app had set
    /// right.
    @Test(arguments: [51.0, -51, 3], [true, false])
    func `what a wrong clock of ours doubted counts once that clock is found wrong`(days: Double, timeServer: Bool)
        throws
    {
        var world = ClockWorld()
        world.losePower()
        world.host = days * Self.day
        try world.poll()
        for _ in 0..<3 { world.sip() }
        try world.poll()
        // The phone app.
        world.setBottle(0)
        for _ in 0..<4 { world.sip() }
        try world.poll()
        (world.host, world.hasTimeServer) = (0, timeServer)
        for _ in 0..<2 { try world.poll { $0.trustsClock = !timeServer } }
        #expect(world.broken.isEmpty, "\(world.broken)")
        #expect(world.waiting == 0 && counted(world).count == 7, "\(world.journal.entries.map(\.verdict))")
    }

    @Test func `a drink that was moved ahead of its own date has that again from a clock that is vouched for`() throws {
        var world = ClockWorld()
        for _ in 0..<3 { world.sip() }
        try world.poll()
        var moved = try #require(world.journal.entries.first)
        guard case .drink(let at, let zone) = moved.verdict else { return #expect(Bool(false), "it counts") }
        moved.verdict = .drink(at: at.advanced(seconds: 51 * Self.day), zone: zone)
        moved.isCorrection = true
        _ = try world.journal.append([moved])
        #expect(world.broken.count == 1)
        // A clock that nobody vouches for leaves it alone.
        world.restart()
        try world.poll()
        #expect(world.broken.count == 1)
        world.hasTimeServer = true
        try world.poll()
        #expect(world.broken.isEmpty && counted(world).count == 3, "\(world.broken)")
    }

    /// Chaos, seed 62: eleven hours ahead, a clock that only the bottle agreed with took the place of the time server's
    /// word; the poll that set the bottle right was killed; then the computer's clock went 300 days back, took the
    /// bottle for its own echo, and dated 70 drinks anew.
    @Test(
        arguments: [-300.0, -51, 51, 400],
        [(40_000.0, false), (40_000, true), (-40_000, true), (7200, false), (7200, true)])
    func
        `what a time server said stays said, and a bottle that was set right by it is no echo of what it was told before`(
            days: Double, from: (Double, Bool)
        ) throws
    {
        let (hours, hasBottleAgreed) = from
        var world = ClockWorld()
        world.hasTimeServer = true
        for _ in 0..<3 { world.sip() }
        try world.poll()
        world.host = hours
        // By its owner's phone.
        if hasBottleAgreed { world.setBottle(hours) }
        for _ in 0..<3 { world.sip() }
        try world.poll()
        #expect(
            try !hasBottleAgreed
                || world.journal.recall(BottleNames("A4:C1:38:01:02:03")).witness?.isSynchronized == false)
        world.losePower()
        try world.poll()
        #expect(world.isClockSet)
        for _ in 0..<5 { world.sip() }
        try world.poll()
        for _ in 0..<2 { world.sip() }
        world.host = 0
        for effects in [10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30] where !world.isBottleRight {
            try world.poll(killAfter: effects)
        }
        #expect(world.isBottleRight)
        for _ in 0..<2 { world.sip() }
        let before = counted(world)
        world.host = days * Self.day
        for _ in 0..<3 {
            try world.poll()
            #expect(!world.isClockSet && !world.isAcknowledged && world.isBottleRight)
            #expect(counted(world).filter { before[$0.key] != nil } == before, "\(world.broken)")
            world.sip()
        }
        world.host = 0
        for _ in 0..<2 { try world.poll() }
        #expect(world.broken.isEmpty && world.waiting == 0, "\(world.broken)")
    }
}
