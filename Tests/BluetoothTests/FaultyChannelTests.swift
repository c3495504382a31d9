import Bluetooth
import Support
import Testing

@Suite struct FaultPlanTests {
    @Test func `a fault plan parses its words`() throws {
        let plan = try FaultPlan(
            "disconnect@12,lose=0.05,late@3:5s,delay=1:250ms,mtu=23,swap@1,repeat@2,silent@4,deaf@1,late@1:1.5s")
        #expect(plan.mtu == 23)
        #expect(
            plan.faults == [
                .init(.disconnect, .at(12)), .init(.lose, .chance(0.05)), .init(.late, .at(3), time: .seconds(5)),
                .init(.delay, .chance(1), time: .milliseconds(250)), .init(.swap, .at(1)), .init(.repeat, .at(2)),
                .init(.silent, .at(4)), .init(.deaf, .at(1)), .init(.late, .at(1), time: .milliseconds(1500)),
            ])
        #expect(try FaultPlan("") == FaultPlan())
    }

    @Test(arguments: [
        ("lose", "a position or a probability"), ("lose@0", "a number from 1"), ("lose@x", "a number from 1"),
        ("lose=2", "a probability of 0–1"),
        ("lose=nan", "a probability"), ("mtu=22", "23–517"), ("mtu@23", "23–517"), ("mtu=23:1s", "23–517"),
        ("loose@1", "expected one of mtu, disconnect, lose, repeat, delay, swap, late, silent, deaf"),
        ("lose@1:5s", "has no time"),
        ("late@1:5", "500ms or 2s"), ("late@1:-1s", "500ms or 2s"), ("late@1:inf", "500ms"), ("late@1:nans", "500ms"),
        ("late@1:9999999999999999999999s", "at most one hour"), ("@1", "expected one of"),
    ])
    func `a fault plan rejects invalid words with the expected value`(text: String, words: String) throws {
        let failure = #expect(throws: FaultPlan.Malformed.self) { try FaultPlan("mtu=100," + text) }
        let error = try #require(failure).description
        #expect(error.hasPrefix("invalid fault '\(text)': ") && error.contains(words))
    }

    @Test func `the list of fault words has every kind of fault`() {
        #expect(FaultPlan.syntax.count == FaultPlan.Kind.allCases.count + 1)
        #expect(
            FaultPlan.isLinkFault("late@1:2s") && FaultPlan.isLinkFault("mtu=9") && !FaultPlan.isLinkFault("button@1"))
    }
}

@Suite struct FaultyChannelTests {
    /// Passes PDUs 10 ms apart, then advances the time. Returns the arrived PDUs as text, with `x` for the end.
    private func arrivals(_ plan: String, _ pdus: [String], _ direction: PDUDirection = .toCentral) throws -> [String] {
        var channel = FaultyChannel(try FaultPlan(plan), seed: 1)
        var arrived: [String] = []
        func take(_ effects: [FaultyChannel.Effect]) {
            for effect in effects {
                switch effect {
                case .deliver(_, direction, let bytes): arrived.append(hex(bytes))
                case .deliver: Issue.record("the wrong way")
                case .disconnect: arrived.append("x")
                case .log: break
                }
            }
        }
        var now = MonotonicInstant.start
        for pdu in pdus {
            take(channel.transmit(bytes(pdu), direction, at: now))
            now = now.advanced(by: .milliseconds(10))
            if let due = channel.nextDeadline, due <= now { take(channel.tick(at: now)) }
        }
        arrived.append("|")
        while let due = channel.nextDeadline { take(channel.tick(at: due)) }
        return arrived
    }

    private let values = ["1B 01 00 01", "1B 01 00 02", "1B 01 00 03"]

    @Test func `an empty plan delivers every PDU`() throws {
        #expect(try arrivals("", values) == values + ["|"])
        #expect(try arrivals("lose=0,disconnect=0", values) == values + ["|"])
    }

    @Test(arguments: [
        ("lose@2", ["1B 01 00 01", "1B 01 00 03", "|"]), ("lose=1", ["|"]), ("lose@1,lose@3", ["1B 01 00 02", "|"]),
        ("repeat@2", ["1B 01 00 01", "1B 01 00 02", "1B 01 00 02", "1B 01 00 03", "|"]),
        ("delay@1:15ms", ["1B 01 00 01", "1B 01 00 02", "1B 01 00 03", "|"]),
        ("delay@2:1s", ["1B 01 00 01", "|", "1B 01 00 02", "1B 01 00 03"]),
        ("swap@1", ["1B 01 00 02", "1B 01 00 01", "1B 01 00 03", "|"]),
        ("swap@3", ["1B 01 00 01", "1B 01 00 02", "|", "1B 01 00 03"]),
        ("swap=1", ["|", "1B 01 00 01", "1B 01 00 02", "1B 01 00 03"]),
        ("disconnect@2", ["1B 01 00 01", "x", "1B 01 00 03", "|"]),
        ("late@1", ["1B 01 00 01", "1B 01 00 02", "1B 01 00 03", "|"]),
    ])
    func `notifications are lost, repeated, delayed and swapped as planned`(plan: String, arrived: [String]) throws {
        #expect(try arrivals(plan, values) == arrived)
    }

    @Test func `responses are delayed or lost as planned`() throws {
        let answers = ["0B 01", "1B 01 00 01", "01 0A 01 00 01"]
        #expect(try arrivals("late@1:2s", answers) == ["|"] + answers)
        #expect(try arrivals("silent@2", answers) == ["0B 01", "1B 01 00 01", "|"])
        #expect(try arrivals("late@1:2s", ["0A 01 00"], .toPeripheral) == ["0A 01 00", "|"])
    }

    @Test func `writes without response are lost as planned`() throws {
        #expect(
            try arrivals("deaf@1", ["52 01 00 01", "52 01 00 02", "12 01 00 01"], .toPeripheral) == [
                "52 01 00 02", "12 01 00 01", "|",
            ])
    }

    @Test func `an MTU limit lowers the MTU at both ends`() throws {
        #expect(try arrivals("mtu=23", ["02 05 02"], .toPeripheral) == ["02 17 00", "|"])
        #expect(try arrivals("mtu=23", ["03 05 02"]) == ["03 17 00", "|"])
        #expect(try arrivals("mtu=100", ["03 17 00"]) == ["03 17 00", "|"])
    }

    @Test func `a delayed PDU does not delay other connections`() throws {
        var channel = FaultyChannel(try FaultPlan("delay@1:1s"), seed: 1)
        #expect(channel.transmit([0x1B, 1, 0, 1], .toCentral, connection: 1, at: .start).count == 1)
        #expect(
            channel.transmit([0x1B, 1, 0, 2], .toCentral, connection: 2, at: .start).last
                == .deliver(connection: 2, .toCentral, [0x1B, 1, 0, 2]))
        channel.closed(connection: 1)
        #expect(channel.nextDeadline == nil)
    }

    @Test func `equal seeds inject equal faults`() throws {
        let plan = try FaultPlan("lose=0.3,repeat=0.2,delay=0.1:50ms,swap=0.1,disconnect=0.01")
        func run(_ seed: UInt64) -> [[FaultyChannel.Effect]] {
            var channel = FaultyChannel(plan, seed: seed)
            return (0..<500).map { number in
                let now = MonotonicInstant.after(.milliseconds(number))
                return channel.tick(at: now)
                    + channel.transmit([0x1B, 1, 0, UInt8(number & 0xFF)], .toCentral, at: now)
            }
        }
        #expect(run(7) == run(7))
        #expect(run(7) != run(8))
    }
}

@Suite struct FaultyLinkTests {
    @Test(arguments: LinkKind.allCases)
    func `the disconnect fault ends the connection at any PDU`(kind: LinkKind) async throws {
        for number in [1, 2, 5, 9, 14] {
            for side in [0, 1] {
                let faulty = LinkInstruments(faults: try FaultPlan("disconnect@\(number)"))
                let bench = try LinkBench(
                    kind, central: side == 0 ? faulty : LinkInstruments(),
                    peripheral: side == 1 ? faulty : LinkInstruments())
                try await bench.peripheral.open(smallBottle)
                bench.central.perform(.connect(bench.peer, limit: .seconds(5)))
                let connected = try await bench.centralEvents.next("outcome") { event -> Bool? in
                    switch event {
                    case .connected: true
                    case .connectFailed: false
                    default: nil
                    }
                }
                #expect(connected == (number > 2))
                if connected {
                    bench.central.perform(.discover)
                    let error = try await bench.centralEvents.next("disconnected") {
                        if case .disconnected(let error?) = $0 { error } else { nil }
                    }
                    #expect(error.isTransient)
                }
                // The fault applies once, so the next connection works.
                bench.central.perform(.connect(bench.peer, limit: .seconds(5)))
                _ = try await bench.centralEvents.next("connected") { if case .connected = $0 { true } else { nil } }
                bench.central.perform(.discover)
                _ = try await bench.centralEvents.next("discovered") { if case .discovered = $0 { true } else { nil } }
                await bench.close()
            }
        }
    }

    @Test(arguments: LinkKind.allCases)
    func `a client works with a small MTU and delayed responses`(kind: LinkKind) async throws {
        let bench = try LinkBench(kind, peripheral: LinkInstruments(faults: try FaultPlan("mtu=23,late@2:50ms")))
        try await bench.peripheral.open(smallBottle)
        bench.central.perform(.connect(bench.peer, limit: .seconds(5)))
        try await bench.centralEvents.next(.connected(bench.peer, mtu: 23))
        bench.central.perform(.discover)
        _ = try await bench.centralEvents.next("discovered") { if case .discovered = $0 { true } else { nil } }
        bench.central.perform(.read(handle: 14))
        try await bench.centralEvents.next(.read(handle: 14, value: Array("Response".utf8)))
        await bench.close()
    }
}
