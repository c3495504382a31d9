import BottleProtocol
import Bluetooth
import Testing
import Emulator

@Suite struct LogTests {
    @Test func `a retail dump is a response and one frame with entries of 8 records`() throws {
        var bench = try Bench().connected(sips: Array(1...20))
        let values = bench.write(.drinkLog)
        #expect(values.first == hex("52 50 00 03 02 06 01"))
        #expect(values.dropFirst().map(\.count) == [4 + 106, 106, 54])
        #expect(Array(values[1].prefix(6)) == [0x50, 0x54, 0x01, 0x0A, 0x69, 0x06])
        #expect(values.dropFirst(2).allSatisfy { $0[1] == 0x06 })
        let records = transfers(values).flatMap { $0.records() }
        #expect(records.map(\.amountMl) == Array(1...20))
        #expect(records.first.map { [$0.year ?? 0, $0.month, $0.day, $0.hour, $0.minute] } == [2026, 11, 21, 12, 0])
        #expect(records.last?.minute == 19 && records.first?.batteryPercent(.boost) == 97)
    }

    @Test func `a log that is too long for one frame is sent in several`() throws {
        let records = (0..<5000).map { number in
            DrinkRecord(
                clock: BottleClock(yearByte: 26, month: 1, day: 1, hour: 0, minute: 0, second: 0),
                amountMl: UInt16(number), tdsPpm: 0, sensor: (1, 97)
            ).raw
        }
        var bench = try Bench(flash: BottleFlash(records: records, capacity: 5000)).connected()
        #expect(bench.poll().map(\.amountMl) == Array(0..<5000))
        #expect(bench.status.flash.records.count == 0)
    }

    @Test func `values are sent one at a time`() throws {
        var bench = try Bench().connected(sips: Array(1...30))
        bench.takesNotifications = false
        #expect(bench.write(.drinkLog).count == 1)
        bench.link(.notified(BluetoothUUID(0xFFE4)))
        #expect(bench.notified.count == 2)
        // A link without a confirmation loses the value after 30 s.
        bench.wait(.seconds(29))
        #expect(bench.notified.count == 2)
        bench.wait(.seconds(2))
        #expect(bench.notified.count == 3)
    }

    @Test(arguments: [(0, 20), (1, 19), (8, 12), (20, 0), (25, 0)])
    func `an acknowledgement deletes as many of the oldest records as it counts`(_ count: Int, _ left: Int) throws {
        var bench = try Bench().connected(sips: Array(1...20))
        bench.write(.drinkLog)
        bench.write(.acknowledge(bytes: UInt16(13 * count)))
        #expect(bench.status.flash.records.count == left)
        #expect(bench.poll(acknowledge: false).map(\.amountMl) == Array((1...20).suffix(left)))
    }

    @Test func `an acknowledgement never drops unsent records`() throws {
        var bench = try Bench().connected(sips: [1, 2])
        bench.write(.acknowledge(bytes: 26))
        #expect(bench.status.flash.records.count == 2, "nothing was sent yet")
        bench.write(.drinkLog)
        bench.sip([3])
        bench.write(.acknowledge(bytes: 39))
        #expect(bench.poll().map(\.amountMl) == [3], "the third drink was not in the acknowledged transfer")
        bench.sip([4])
        bench.disconnect()
        bench.connect()
        bench.write(.acknowledge(bytes: 13))
        #expect(bench.status.flash.records.count == 1, "a new connection cannot acknowledge earlier records")
        bench.write(.drinkLog)
        bench.write(.acknowledge(bytes: 12))
        #expect(bench.status.flash.records.count == 1, "12 bytes are no record")
    }

    @Test func `several acknowledgements of one dump continue in order`() throws {
        var bench = try Bench().connected(sips: Array(1...10))
        bench.write(.drinkLog)
        bench.write(.acknowledge(bytes: 39))
        bench.write(.acknowledge(bytes: 39))
        #expect(bench.poll(acknowledge: false).map(\.amountMl) == [7, 8, 9, 10])
    }

    @Test func `an overflow before an acknowledgement does not drop newer records`() throws {
        var bench = try Bench(faults: "ring=4").connected(sips: [1, 2, 3, 4])
        bench.write(.drinkLog)
        bench.sip([5, 6])
        bench.write(.acknowledge(bytes: 52))
        #expect(bench.poll().map(\.amountMl) == [5, 6])
    }

    @Test func `the ring keeps 500 records and drops its oldest`() throws {
        var bench = try Bench()
        for index in 0..<510 { bench.control(.sip(ml: index)) }
        #expect(bench.status.flash.records.count == 500 && bench.status.flash.overwritten == 10)
        bench.connect()
        #expect(bench.poll().map(\.amountMl) == Array(10..<510))
        #expect(bench.status.flash.records.count == 0 && bench.status.flash.dropped == 500)
    }

    @Test func `an unacknowledged log is sent again`() throws {
        var bench = try Bench().connected(sips: [1, 2, 3])
        let first = bench.poll(acknowledge: false)
        bench.disconnect()
        bench.connect()
        #expect(bench.poll(acknowledge: false) == first && first.count == 3)
    }

    @Test func `drinks of one second get different seconds`() throws {
        var bench = try Bench()
        for _ in 0..<3 { bench.control(.sip(ml: 120)) }
        bench.control(.sip(ml: 121))
        bench.connect()
        #expect(bench.poll().map(\.second) == [0, 1, 2, 0])
        var restarted = try Bench(flash: bench.saved)
        restarted.control(.sip(ml: 120))
        restarted.connect()
        #expect(restarted.poll().map(\.second) == [3])
    }

    @Test func `the clear command drops the log and confirms it`() throws {
        var bench = try Bench().connected(sips: [1, 2])
        #expect(bench.write(.clearLog) == [hex("52 50 00 03 02 1C 06")])
        #expect(bench.status.flash.records.count == 0)
    }

    @Test func `strict records have 1A in byte 0 and at most 255 ml`() throws {
        for (dialect, byte) in [(RecordDialect.strict, 0x1A), (.calendar, 0x1B), (nil, 0x1B)] as [(RecordDialect?, Int)]
        {
            var bench = try Bench(BottleIdentity(dialect: dialect), hostTime: Bench.newYear)
            bench.sip([100])
            if case .refused = bench.control(.sip(ml: 256)) {
                #expect(dialect == .strict)
            } else {
                #expect(dialect != .strict)
            }
            bench.connect()
            #expect(bench.poll().first?.yearByte == byte)
        }
    }

    @Test func `Vita records have TDS and temperature`() throws {
        var bench = try Bench(BottleIdentity(model: .vita)).connected(sips: [300])
        let record = try #require(bench.poll().first)
        #expect(record.tdsPpm(model: .vita) == 120 && record.temperatureC(.vita) == 21 && record.amountMl == 300)
    }
}

@Suite struct DraftTests {
    private func bench(_ count: Int) throws -> Bench {
        var bench = try Bench(BottleIdentity(profile: .draft))
        bench.sip(Array(1...count))
        return bench
    }

    @Test(arguments: [1, 3, 4] as [UInt8])
    func `draft reads return the newest 19 records first`(_ command: UInt8) throws {
        var bench = try bench(20).connected(subscribe: false)
        bench.write([command])
        var packets: [[UInt8]] = []
        for _ in 0..<5 {
            guard case .value(let value)? = bench.read() else { Issue.record("no value"); return }
            packets.append(value)
        }
        #expect(packets.map(\.count) == [253, 19, 4, 4, 4] && packets.last == hex("50 54 00 00"))
        #expect(packets.map { originalAppRecords($0).map(\.amountMl) }.prefix(2) == [Array(2...20), [1]])
        #expect(bench.notified.isEmpty)
        bench.write(.acknowledge(bytes: 260))
        #expect(bench.status.flash.records.count == 0)
    }

    @Test(arguments: [(nil, 0x1A), (.strict, 0x1A), (.calendar, 0x1B)] as [(RecordDialect?, Int)])
    func `byte 0 over FF02 is 1A unless the calendar dialect is selected`(_ dialect: RecordDialect?, _ byte: Int) throws
    {
        var bench = try Bench(BottleIdentity(profile: .draft, dialect: dialect), hostTime: Bench.newYear).connected(
            sips: [100], subscribe: false)
        bench.write([0x01])
        guard case .value(let value)? = bench.read() else { Issue.record("no value"); return }
        #expect(value[6] == UInt8(byte))
    }

    @Test func `the original app reads every sip and acknowledges nothing`() throws {
        var bench = try Bench(BottleIdentity(profile: .draft))
        var seen: Set<[UInt8]> = []
        for sip in 1...90 {
            bench.control(.sip(ml: 50 + sip))
            bench.connect(subscribe: false)
            bench.write([0x01])
            bench.wait(.milliseconds(500))
            guard case .value(let packet)? = bench.read() else { Issue.record("no value"); return }
            let records = originalAppRecords(packet)
            #expect(records.last?.amountMl == 50 + sip, "sip \(sip)")
            seen.formUnion(records.map(\.raw))
            bench.disconnect()
            bench.wait(.seconds(2880))
        }
        #expect(seen.count == 90 && bench.status.flash.records.count == 90)
    }

    @Test func `an acknowledgement of the newest packet drops only its records`() throws {
        var bench = try bench(40).connected(subscribe: false)
        bench.write([0x01])
        _ = bench.read()
        bench.write(.acknowledge(bytes: 13 * 19))
        #expect(bench.machine.flash.records.map { Int($0.bytes[7]) } == Array(1...21))
    }

    @Test func `a read from an offset continues the same packet`() throws {
        var bench = try bench(8).connected(subscribe: false)
        bench.write([0x01])
        guard case .value(let whole)? = bench.read(), case .value(let rest)? = bench.read(offset: 22) else {
            Issue.record("no value"); return
        }
        #expect(rest == Array(whole.dropFirst(22)))
        #expect(bench.read(offset: whole.count + 1) == .error(0x07))
    }

    @Test func `a read without a request or records returns an empty frame`() throws {
        var bench = try Bench(BottleIdentity(profile: .draft)).connected(subscribe: false)
        #expect(bench.read() == .value(hex("50 54 00 00")))
        bench.write([0x01])
        #expect(bench.read() == .value(hex("50 54 00 00")))
    }

    @Test func `draft packets are sent as notifications after a subscription`() throws {
        var bench = try bench(10).connected()
        let values = bench.write([0x01], withResponse: true)
        #expect(values.map(\.count) == [110, 32, 4])
        #expect(bench.effects.contains(.link(.respond(token: 1, .value([])))))
        bench.write(.acknowledge(bytes: 130))
        #expect(bench.status.flash.records.count == 0)
        #expect(bench.write([0x01]) == [hex("50 54 00 00")])
    }

    @Test func `draft responses can be read without a subscription`() throws {
        var bench = try bench(1).connected(subscribe: false)
        bench.write(.snapshot)
        guard case .value(let value)? = bench.read() else { Issue.record("no value"); return }
        #expect(try Snapshot(decoding: Frame(decoding: value)).batteryPercent == 97)
    }

    @Test(arguments: [(1, false), (3, true), (4, true)] as [(UInt8, Bool)])
    func `a retail bottle sends its log after 03 or 04, but not after 01`(_ byte: UInt8, _ isTaken: Bool) throws {
        var bench = try Bench().connected(sips: [1])
        let values = bench.write([byte])
        #expect(
            values.isEmpty != isTaken && values.contains { $0.starts(with: [0x50, 0x54]) } == isTaken
                && bench.status.flash.records.count == 1)
    }

    @Test func `the unasked quirk sends state and log to a silent client`() throws {
        var bench = try Bench(faults: "unasked=500").connected(sips: [1, 2])
        bench.notified = []
        bench.wait(.milliseconds(499))
        #expect(bench.notified.isEmpty)
        bench.wait(.milliseconds(1))
        #expect(bench.notified.map { Array($0.prefix(2)) } == [Array("RP".utf8), Array("PT".utf8)])
        bench.write(.acknowledge(bytes: 26))
        #expect(bench.status.flash.records.count == 0)
        bench.disconnect()
        bench.connect()
        bench.write(.snapshot)
        bench.notified = []
        bench.wait(.seconds(5))
        #expect(bench.notified.isEmpty)
    }
}
