import Bluetooth
import BottleProtocol
import Replay
import Support
import Testing

@Suite struct DrinkReaderTests {
    @Test func `each drink is listed once, or with raw every delivery`() throws {
        var talk = Conversation.retail()
        for _ in 0..<2 {
            talk.write([0x47, 0x54, 0x00, 0x01, 0x06])
            talk.notifyLog([record(600, 200), record(601, 201, flag: 3)])
        }
        #expect(try talk.drinks().drinks.map(\.amount) == [200])
        let raw = try talk.drinks(raw: true).drinks
        #expect(raw.map(\.amount) == [200, 201, 200, 201])
        #expect(raw.map(\.isDuplicate) == [false, false, true, true])
    }

    @Test func `a drink is identified by bottle, wall clock and amount`() throws {
        var talk = Conversation.retail()
        talk.notifyLog([record(600, 200), record(600, 201), record(600, 200, second: 1), record(600, 200)])
        talk.connect(BluetoothAddress(0xA4C1_38AA_BBCC), handle: 0x41)
        talk.discoverRetail()
        talk.notifyLog([record(600, 200)])
        #expect(try talk.drinks().drinks.map(\.amount) == [200, 201, 200, 200])
    }

    @Test func `drinks of a second capture are known from the first`() throws {
        var options = DrinkReader.Options(hostYear: 2026)
        options.isRaw = false
        var amounts: [Int] = []
        let reader = DrinkReader(options) { amounts.append($0.record.amountMl) }
        for records in [[record(600, 200)], [record(600, 200), record(601, 201)]] {
            var talk = Conversation.retail()
            talk.notifyLog(records)
            try talk.read(reader)
        }
        #expect(amounts == [200, 201])
    }

    @Test func `a record's frame is the packet that completed it`() throws {
        var talk = Conversation.retail()  // frames 1 to 5
        talk.notifyLog([record(600, 200), record(601, 201), record(602, 202)], entry: 1)
        #expect(try talk.drinks().drinks.map(\.frame) == [6, 7, 8])
        var cut = Conversation.retail()
        let bytes = Conversation.log([record(600, 200), record(601, 201), record(602, 202)]).flatMap { $0 }
        var at = 0
        while at < bytes.count {
            cut.notify(Array(bytes[at..<min(at + 20, bytes.count)]))
            at += 20
        }
        #expect(
            try cut.drinks().drinks.map(\.frame) == [6, 7, 8],
            "19, 32 and 45 bytes end in the first, second and third value")
    }

    @Test func `suspect records are listed, marked and not summed`() throws {
        var talk = Conversation.retail()
        talk.notifyLog([record(600, 200, year: 0, day: 0), record(600, 201, year: 0), record(602, 202)])
        let (drinks, reader) = try talk.drinks()
        #expect(drinks.map(\.at) == [nil, "2000-02-02T10:00:00", "2026-02-02T10:02:00"])
        #expect(reader.tally.suspects == 2)
        #expect(reader.tally.millilitres == 202)
    }

    @Test func `the strict dialect rejects a byte 0 other than 1A with a reason`() throws {
        var talk = Conversation.retail()
        talk.notifyLog([record(600, 200), record(601, 201, year: 0x1B)])
        #expect(try talk.drinks().drinks.map(\.at) == ["2026-02-02T10:00:00", "2027-02-02T10:01:00"])
        var options = DrinkReader.Options(hostYear: 2031)
        options.dialect = .strict
        var refused: [RejectedRecord] = []
        var times: [String?] = []
        let reader = DrinkReader(options) { times.append($0.at) }
        reader.onRejected = { refused.append($0) }
        try talk.read(reader)
        #expect(times == ["2026-02-02T10:00:00"], "the capture was made in 2026")
        #expect(refused.count == 1)
        #expect(refused.first?.reason.offset == 0)
        #expect(refused.first?.reason.found == 0x1B)
    }

    /// A2: the latest year in which the date is valid and at most a day ahead of the packet. A drink of New Year's Eve
    /// can be captured after midnight.
    @Test(
        arguments: [
            ("A2-02", 1798761900, [12, 31, 23, 50, 0], "2026-12-31T23:50:00"),
            ("A2-03", 1798761540, [1, 1, 0, 1, 0], "2027-01-01T00:01:00"),
            ("A2-04", 1770071400, [2, 3, 22, 30, 0], "2026-02-03T22:30:00"),
            ("A2-05", 1770071400, [2, 3, 22, 31, 0], "2025-02-03T22:31:00"),
            ("A2-06", 1835438400, [2, 29, 10, 0, 0], "2028-02-29T10:00:00"),
            ("A2-07", 1803891600, [2, 29, 10, 0, 0], "2024-02-29T10:00:00"),
        ] as [(String, Int, [UInt8], String)])
    func `the strict dialect takes the year from the packet's time`(
        _ vector: String, _ start: Int, _ date: [UInt8], _ at: String
    ) throws {
        var talk = Conversation.retail()
        // The log is the sixth event.
        talk.start = start - 6
        talk.notifyLog([[0x1A] + date + [0, 200, 0, 0, 1, 0x61, 0]])
        #expect(try talk.drinks(dialect: .strict).drinks.map(\.at) == [at], "\(vector)")
    }

    @Test func `with the draft profile each read response is a delivery, and long values are joined`() throws {
        var talk = Conversation()
        talk.discover(talk.characteristic(2, 0x0C, 3, 0xFF01), talk.characteristic(4, 0x12, 5, 0xFF02))
        talk.sent([0x52, 0x03, 0x00, 0x01])
        let packet = Conversation.log((0..<3).map { record(600 + $0, 200 + $0) }).flatMap { $0 }  // 45 bytes, MTU 23
        talk.read(5, Array(packet[0..<22]), Array(packet[22..<44]), Array(packet[44...]))
        talk.read(5, Conversation.log([record(603, 203)])[0])
        talk.read(5, [0x50, 0x54, 0x00, 0x00])
        let (drinks, reader) = try talk.drinks()
        #expect(drinks.map(\.amount) == [200, 201, 202, 203])
        #expect(reader.peers.first { $0.isBottle }?.profile == .draft)
    }

    @Test func `the MTU is the smaller one of both ends when both start an exchange`() throws {
        var talk = Conversation()
        talk.received([0x02, 24, 0])
        talk.sent([0x02, 0x05, 0x02])
        talk.received([0x03, 24, 0])
        talk.sent([0x03, 0x05, 0x02])
        talk.discover(talk.characteristic(4, 0x12, 5, 0xFF02))
        let packet = Conversation.log([record(600, 200), record(601, 201)])[0]  // 32 bytes
        talk.read(5, Array(packet[..<23]), Array(packet[23...]))
        #expect(try talk.drinks().drinks.map(\.amount) == [200, 201])
    }

    @Test func `a value whose length is a multiple of the MTU ends with an error or an empty response`() throws {
        let packet = Conversation.log([record(600, 200)])[0]  // 19 bytes
        for ending: [UInt8] in [[0x0D], [0x01, 0x0C, 0x05, 0x00, 0x07]] {
            var talk = Conversation()
            talk.sent([0x02, 24, 0])
            talk.received([0x03, 24, 0])
            talk.discover(talk.characteristic(4, 0x12, 5, 0xFF02))
            // 23 bytes fill an answer
            let long = packet + Conversation.log([record(601, 201), record(602, 202)])[0].prefix(4)
            talk.read(5, long)
            talk.sent([0x0C, 0x05, 0x00, 23, 0])
            talk.received(ending)
            #expect(try talk.drinks().drinks.map(\.amount) == [200])
        }
    }

    @Test func `values of a multiple notification are read`() throws {
        var talk = Conversation.retail()
        let log = Conversation.log([record(600, 200), record(601, 201)], entry: 1)
        talk.received([0x23] + log.flatMap { [0x06, 0x00, UInt8($0.count), 0x00] + $0 })
        #expect(try talk.drinks().drinks.map(\.amount) == [200, 201])
    }

    @Test func `the model determines the meaning of bytes 8 to 11`() throws {
        var talk = Conversation.retail()
        talk.notify(Snapshot().frame(.vita).encoded)
        talk.notifyLog([[0x1A, 2, 2, 10, 0, 0, 0, 200, 0, 115, 21, 0, 0]])
        var seen: [(Int?, Int?, Int?)] = []
        let reader = DrinkReader(DrinkReader.Options(hostYear: 2026)) { delivery in
            seen.append(
                (
                    delivery.record.temperatureC(delivery.model), delivery.record.tdsPpm(model: delivery.model),
                    delivery.record.batteryPercent(delivery.model)
                ))
        }
        try talk.read(reader)
        #expect(seen.count == 1)
        #expect(seen.first?.0 == 21)
        #expect(seen.first?.1 == 115)
        #expect(seen.first?.2 == nil)
    }

    /// Logs of any size, cut anywhere, with reports between, from several bottles at once: every drink once, in frame
    /// order.
    @Test(arguments: 0..<40)
    func `interleaved random logs of two bottles are separated`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var talk = Conversation.retail()
        talk.connect(BluetoothAddress(0xA4C1_38AA_BBCC), handle: 0x41)
        talk.discoverRetail(response: 9)
        var expected: [String: Set<Int>] = [:]
        for round in 0..<4 {
            let logs = (0..<2).map { bottle in
                (0..<Int.random(in: 1...40, using: &random)).map { record(round * 60 + $0, 100 + $0, second: bottle) }
            }
            let sizes = (0..<2).map { _ in Int.random(in: 1...8, using: &random) }
            var queues = (0..<2).map { Conversation.log(logs[$0], entry: sizes[$0])[...] }
            for bottle in 0..<2 {
                expected["\(bottle)", default: []].formUnion(
                    logs[bottle].map { Int($0[3]) * 3600 + Int($0[4]) * 60 + Int($0[7]) * 100_000 })
                talk.resume(bottle + 1)
                talk.write([0x47, 0x54, 0x00, 0x01, 0x06])
            }
            while !queues.allSatisfy(\.isEmpty) {
                let bottle = Int.random(in: 0...1, using: &random)
                guard let value = queues[bottle].popFirst() else { continue }
                talk.resume(bottle + 1)
                let handle: UInt16 = bottle == 0 ? 6 : 9
                talk.notify(value, from: handle)
                if Int.random(in: 0..<4, using: &random) == 0 { talk.notify(value, from: handle) }
                if Int.random(in: 0..<4, using: &random) == 0 {
                    talk.notify([0x52, 0x54, 0x00, 0x03, 0x02, 0x02, UInt8(round)], from: handle)
                }
            }
        }
        let (drinks, reader) = try talk.drinks()
        for (bottle, address) in ["A4:C1:38:01:02:03", "A4:C1:38:AA:BB:CC"].enumerated() {
            let found = drinks.filter { $0.bottle == address }
            #expect(found.count == expected["\(bottle)"]?.count, "seed \(seed)")
            #expect(found.map(\.frame) == found.map(\.frame).sorted(), "seed \(seed)")
        }
        #expect(reader.tally.unfinishedTransfers == 0, "seed \(seed)")
    }
}
