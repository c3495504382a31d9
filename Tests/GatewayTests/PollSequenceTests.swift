import BottleProtocol
import Bluetooth
import Gateway
import GatewaySupport
import Testing
import TrackerCore

@Suite struct PollSequenceTests {
    @Test func `the poll sends its requests in the order of the protocol`() throws {
        var bottle = ScriptedBottle(records: [sampleRecord])
        bottle.snapshot = boostSnapshot()
        let (rig, report) = try polled(bottle) { $0.todayTotal = 340 }

        #expect(report.failure == nil)
        #expect(report.bottle == ownAddress)
        #expect(report.name == "WaterH-Boost-24oz")
        #expect(report.profile == .retail)
        #expect(report.model == .boost)
        #expect(report.batteryPercent == 87)
        #expect(report.clockDriftSeconds == 0)
        #expect(
            [report.received, report.new, report.duplicates, report.suspect, report.undecodable, report.acknowledged]
                == [1, 1, 0, 0, 0, 1])
        #expect(report.complete)
        #expect(rig.written == [.snapshot, .drinkLog, .drinkLog, .acknowledge(bytes: 13), .drinkLog, .amount(ml: 340)])
        #expect(rig.requests.last == .disconnect)
        let entry = try #require(rig.journal.entries.first)
        #expect(entry.wall == WallTime(year: 2026, month: 2, day: 2, hour: 22, minute: 21, second: 15))
        #expect(entry.amountMl == 16)
        #expect(entry.verdict == .drink(at: Instant(seconds: 1_770_070_875), zone: "UTC"))
        #expect(rig.journal.polls.map(\.complete) == [true])
        #expect(report.duration < .seconds(1))
    }

    @Test func `--keep acknowledges nothing`() throws {
        let (rig, report) = try polled(
            ScriptedBottle(records: drinks(48)), options: options { $0.isAcknowledgementDisabled = true })
        #expect(report.complete)
        #expect([report.received, report.acknowledged] == [48, 0])
        #expect(rig.peer.records.count == 48)
    }

    @Test(arguments: [0, 1, 8, 16, 48, 500]) func `a log of any size is read and acknowledged`(_ count: Int)
        throws
    {
        let (rig, report) = try polled(ScriptedBottle(records: drinks(count)))
        #expect(report.complete)
        #expect(report.failure == nil)
        #expect(
            [report.received, report.acknowledged, rig.journal.entries.count, rig.peer.records.count] == [
                count, count, count, 0,
            ])
    }

    @Test func `a dump is acknowledged when its frames arrive slowly`() throws {
        var bottle = ScriptedBottle(records: drinks(20))
        (bottle.recordsPerFrame, bottle.spacing) = (8, .milliseconds(25))
        let (rig, report) = try polled(bottle)
        #expect([report.received, report.acknowledged, rig.peer.records.count] == [20, 20, 0], "\(report)")
    }

    @Test func `a dump of several frames is acknowledged after a second one`() throws {
        var bottle = ScriptedBottle(records: drinks(48))
        bottle.recordsPerFrame = 16
        let (rig, report) = try polled(bottle)
        #expect([report.received, report.new, report.acknowledged, rig.peer.records.count] == [48, 48, 48, 0])
        // All but one, because the ring can be full. Then it has space.
        let talk = rig.written.filter { if case .acknowledge = $0 { true } else { $0 == .drinkLog } }
        let expected: [HostCommand] = [
            .drinkLog, .drinkLog, .acknowledge(bytes: 47 * 13), .drinkLog, .drinkLog, .acknowledge(bytes: 13),
            .drinkLog,
        ]
        #expect(talk == expected)
    }

    @Test func `commands that the bottle ignored are sent again`() throws {
        var bottle = ScriptedBottle(records: drinks(3))
        bottle.snapshot = boostSnapshot()
        bottle.ignoredCommands = 2
        let (rig, report) = try polled(bottle)
        #expect(report.new == 3)
        #expect(report.batteryPercent == 87)
        #expect(rig.written.prefix(3) == [.snapshot, .snapshot, .snapshot])
    }

    @Test func `the log of a bottle without a snapshot is read`() throws {
        let (rig, report) = try polled(ScriptedBottle(records: drinks(3)))
        #expect(report.new == 3)
        #expect(report.clockDriftSeconds == nil)
        #expect(rig.diagnostics.contains { $0.severity == .warning && $0.sentence.contains("snapshot") })
    }

    @Test(
        arguments: [
            ([0x1A, 2, 2, 22, 32, 0], 120, false), ([0x1A, 2, 2, 22, 32, 1], 121, true),
            ([0x1A, 2, 2, 22, 28, 0], -120, false), ([0x1A, 2, 2, 22, 27, 59], -121, true),
            ([0, 0, 0, 0, 0, 9], nil, true),
        ] as [([UInt8], Int?, Bool)])
    func `the bottle's clock is set if it is more than 120 s off`(clock: [UInt8], drift: Int?, isSet: Bool) throws {
        var bottle = ScriptedBottle()
        bottle.snapshot = boostSnapshot(clock: clock)
        bottle.spacing = .zero
        let (rig, report) = try polled(bottle)
        #expect(report.clockDriftSeconds == drift)
        let host = BottleClock(yearByte: 0x1A, month: 2, day: 2, hour: 22, minute: 30, second: 0)
        #expect(rig.written.contains(.clock(host)) == isSet)
        let reportOnly = try polled(bottle, options: options { $0.correctClockBeyond = nil }).rig
        #expect(!reportOnly.written.contains(.clock(host)))
    }

    @Test func `managed settings are written only if they differ`() throws {
        var bottle = ScriptedBottle()
        bottle.snapshot = boostSnapshot(goal: 2000)
        func written(goal: UInt16) throws -> [HostCommand] {
            try polled(bottle, options: options { $0.goalMl = goal }).rig.written
        }
        #expect(try written(goal: 2000) == [.snapshot, .drinkLog])
        // No other write is pending, and the log comes first.
        #expect(try written(goal: 2500) == [.snapshot, .drinkLog, .goal(ml: 2500)])
        bottle.snapshot = boostSnapshot(clock: [0x1A, 2, 2, 22, 0, 0], goal: 2000)
        let clock = BottleClock(yearByte: 0x1A, month: 2, day: 2, hour: 22, minute: 30, second: 0)
        #expect(
            try written(goal: 2500).filter { $0 != .snapshot && $0 != .drinkLog } == [.clock(clock), .goal(ml: 2500)])
    }

    @Test func `a new store never lowers the amount on the display`() throws {
        var bottle = ScriptedBottle(records: drinks(1))
        bottle.snapshot = boostSnapshot(amount: 900)
        let journal = MemoryJournal()
        #expect(try !polled(bottle, journal: journal) { $0.todayTotal = 20 }.rig.written.contains(.amount(ml: 20)))
        #expect(try polled(bottle, journal: journal) { $0.todayTotal = 20 }.rig.written.last == .amount(ml: 20))
    }

    @Test func `send writes a command and returns the response`() throws {
        let commands: [HostCommand] = [.goal(ml: 2500), .goal(ml: 2500), .flash]
        let (rig, report) = try polled(ScriptedBottle(), options: options { $0.job = .send(commands) })
        #expect(report.failure == nil)
        #expect(report.responses.map(\.command) == commands)
        let goal: [UInt8] = [0x52, 0x50, 0, 4, 3, 5, 0x09, 0xC4]
        #expect(report.responses.map { $0.frame?.encoded } == [goal, goal, nil])
        #expect(rig.journal.polls.isEmpty)
    }
}
