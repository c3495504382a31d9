import BottleProtocol
import Bluetooth
import Testing
import Emulator

/// A recorded request, its values, and the numbers of the records in them.
private typealias Recorded = (request: [UInt8], values: [[UInt8]], records: ClosedRange<UInt64>?)

/// Exchanges whose values follow their request at intervals of a second.
private func recorded(_ exchanges: [Recorded]) -> [RecordedExchange] {
    exchanges.enumerated().map { index, exchange in
        var recorded = RecordedExchange(request: exchange.request, frame: index + 1)
        recorded.values = exchange.values.enumerated().map { ($1, .seconds($0 + 1)) }
        recorded.records = exchange.records.map { Array($0) } ?? []
        return recorded
    }
}

@Suite struct RecordedResponsesTests {
    /// A recording in which the host sent two unknown requests, one of them twice, and set the clock.
    private func bench(isStrict: Bool = false) throws -> Bench {
        let clock = BottleClock(yearByte: 26, month: 1, day: 1, hour: 0, minute: 0, second: 0)
        let exchanges = recorded([
            (hex("47 54 00 01 77"), [hex("52 50 00 03 02 77 01"), hex("52 50 00 03 02 77 02")], nil),
            (hex("47 54 00 01 77"), [hex("52 50 00 03 02 77 03")], nil), (hex("AA"), [hex("BB")], nil),
            (HostCommand.clock(clock).encoded, [hex("52 50 00 03 02 03 00")], nil),
        ])
        return try Bench(responses: RecordedResponses(exchanges, isStrict: isStrict)).connected()
    }

    @Test func `unknown requests get the recorded responses in turn, without their delays`() throws {
        var bench = try bench()
        #expect(bench.write(hex("47 54 00 01 77")) == [hex("52 50 00 03 02 77 01"), hex("52 50 00 03 02 77 02")])
        #expect(bench.write(hex("47 54 00 01 77")) == [hex("52 50 00 03 02 77 03")])
        #expect(bench.write(hex("47 54 00 01 77")) == [hex("52 50 00 03 02 77 03")])
        #expect(bench.write([0xAA]) == [[0xBB]] && bench.write([0xAB]).isEmpty)
        #expect(bench.write(.snapshot).count == 1 && bench.status.central != nil)
    }

    @Test func `strict mode disconnects at an unknown request`() throws {
        var bench = try bench(isStrict: true)
        #expect(bench.write([0xAA]) == [[0xBB]])
        #expect(bench.write(.clock(BehaviourTests.clock)).count == 1 && bench.status.clock == BehaviourTests.clock)
        #expect(bench.status.central != nil)
        #expect(bench.write(.snapshot).isEmpty && bench.status.central == nil)
    }
}

/// A bottle that responds as recorded: a host read and acknowledged 10 records, then read 6, of which 4 were new.
@Suite struct RecordedBottleTests {
    private static let snapshot = HostCommand.snapshot.encoded
    private static let ask = HostCommand.drinkLog.encoded
    private static let follows = hex("52 50 00 03 02 06 01")
    private static let empty = hex("52 50 00 03 02 06 00")
    private static let records = (0..<14).map { number in
        let clock = BottleClock(yearByte: 26, month: 2, day: 2, hour: 10, minute: UInt8(number), second: 0)
        return DrinkRecord(clock: clock, amountMl: UInt16(100 + number), sensor: (1, 97)).raw
    }

    /// A frame with the records of these numbers, which count from 1.
    private static func log(_ numbers: ClosedRange<Int>) -> [UInt8] {
        Frame(.put, [Entry(.log, numbers.flatMap { records[$0 - 1] })]).encoded
    }

    /// A bottle with a recording.
    private static func bench(
        _ exchanges: [Recorded] = [
            (snapshot, [hex("52 50 00 01 AA")], nil), (ask, [follows, log(1...10)], 1...10),
            (HostCommand.acknowledge(bytes: 130).encoded, [], nil), (ask, [empty], nil),
            (ask, [follows, log(9...14)], 9...14), (ask, [empty], nil),
        ],
        profile: OfferedProfiles = .retail, isStrict: Bool = false, speed: Double? = nil
    ) throws -> Bench {
        var bench = try Bench(
            BottleIdentity(profile: profile, dialect: .calendar), flash: BottleFlash(records: records, capacity: 14),
            responses: RecordedResponses(recorded(exchanges), isPreferred: true, isStrict: isStrict, speed: speed))
        bench.connect(subscribe: profile == .retail)
        return bench
    }

    @Test func `a recorded request gets the recorded response, byte for byte`() throws {
        var bench = try Self.bench()
        #expect(bench.write(Self.snapshot) == [hex("52 50 00 01 AA")])
        #expect(bench.write(Self.ask) == [Self.follows, Self.log(1...10)])
    }

    @Test func `a client receives all recorded dumps, then the remaining records`() throws {
        var bench = try Self.bench()
        #expect(bench.poll().map(\.amountMl) == Array(100...109))
        #expect(bench.write(Self.ask) == [Self.follows, Self.log(9...14)])
        // Two of them are acknowledged: the rest remains.
        bench.write(.acknowledge(bytes: 26))
        #expect(bench.poll().map(\.amountMl) == Array(110...113))
        #expect(bench.write(Self.ask) == [Self.empty])
    }

    @Test func `unacknowledged records are sent again, also on the next connection`() throws {
        var bench = try Self.bench()
        bench.write(Self.ask)
        bench.write(Self.ask)
        bench.disconnect()
        bench.connect()
        #expect(bench.poll().map(\.amountMl) == Array(100...113))
    }

    @Test func `strict mode also sends empty responses in the recorded order`() throws {
        var bench = try Self.bench(isStrict: true)
        #expect(bench.poll().count == 10)
        #expect(bench.write(Self.ask) == [Self.empty])
        #expect(bench.write(Self.ask) == [Self.follows, Self.log(9...14)])
        #expect(bench.status.central != nil)
    }

    @Test func `strict mode disconnects after an unrecorded request, otherwise the model responds`() throws {
        let goal: [UInt8] = [0x50, 0x54, 0x00, 0x04, 0x03, 0x05, 0x09, 0xC4]
        var bench = try Self.bench()
        #expect(bench.write(goal) == [hex("52 50 00 04 03 05 09 C4")] && bench.status.central != nil)
        var strict = try Self.bench(isStrict: true)
        #expect(strict.write(goal).isEmpty && strict.status.central == nil)
        let message =
            "the host wrote 50 54 00 04 03 05 09 C4 (set the goal to 2500 ml), which is not in the capture; "
            + "the recorded host wrote 47 54 00 01 FF (ask for a snapshot) in frame 1"
        #expect(strict.effects.contains(.unrecorded(message)))
    }

    @Test(arguments: [(1, 1000), (4, 250)] as [(Double, Int)])
    func `responses keep the recorded delays`(speed: Double, milliseconds: Int) throws {
        var bench = try Self.bench(speed: speed)
        #expect(bench.write(Self.ask).isEmpty)
        bench.wait(.milliseconds(milliseconds - 1))
        #expect(bench.notified.isEmpty)
        bench.wait(.milliseconds(1))
        #expect(bench.notified == [Self.follows])
        bench.wait(.milliseconds(milliseconds))
        #expect(bench.notified == [Self.follows, Self.log(1...10)])
    }

    @Test func `a recorded draft bottle can be read without a subscription`() throws {
        let (packets, end) = ([Self.log(1...8), Self.log(9...10)], hex("50 54 00 00"))
        var bench = try Self.bench([([0x01], packets + [end], 1...10)], profile: .draft, speed: 1)
        #expect(bench.write([0x01]).isEmpty)
        for value in packets + [end, end] { #expect(bench.read() == .value(value)) }
    }
}
