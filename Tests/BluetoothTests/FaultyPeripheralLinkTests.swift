import Bluetooth
import Support
import Synchronization
import Testing

/// Faults at GATT level around a link without fault support.
@Suite struct FaultyPeripheralLinkTests {
    /// A connected and subscribed central, and the faulty link of its peripheral. Response 12, command 16, firmware 19.
    private struct Bench {
        let central: any CentralLink
        let peripheral: InstrumentedPeripheralLink
        let centralEvents: Inbox<CentralEvent>
        let peripheralEvents: Inbox<PeripheralEvent>
        let lines = Lines()

        init(_ plan: String, seed: UInt64 = 1) async throws {
            let ends = MemoryLink.pair()
            central = ends.central
            let lines = lines
            peripheral = InstrumentedPeripheralLink(
                ends.peripheral,
                instruments: LinkInstruments(faults: try FaultPlan(plan), seed: seed, log: { lines.add($0) }))
            centralEvents = Inbox(central.events)
            peripheralEvents = Inbox(peripheral.events)
            try await peripheral.open(smallBottle)
            try await connect()
        }

        func connect() async throws {
            central.perform(.connect(PeerID("memory"), limit: .seconds(5)))
            _ = try await centralEvents.next("connected") { if case .connected = $0 { true } else { nil } }
            central.perform(.discover)
            central.perform(.subscribe(handle: 12))
            try await centralEvents.next(.subscribed(handle: 12))
            _ = try await peripheralEvents.next("subscribed") { if case .subscribed = $0 { true } else { nil } }
        }

        /// Sends values one at a time, each after the last one has been sent.
        func notify(_ values: ClosedRange<UInt8>) async throws {
            for value in values {
                peripheral.perform(.notify(0xFFE4, value: [value]))
                try await peripheralEvents.next(.notified(0xFFE4))
            }
        }

        func values(_ count: Int) async throws -> [UInt8] {
            var values: [UInt8] = []
            while values.count < count {
                values.append(
                    try await centralEvents.next("value \(values.count)") {
                        if case .notification(12, let value) = $0 { value.first } else { nil }
                    })
            }
            return values
        }

        func token() async throws -> UInt64 {
            try await peripheralEvents.next("a request") { $0.token }
        }

        func close() async {
            await central.close()
            await peripheral.close()
        }
    }

    private final class Lines: Sendable {
        private let held = Mutex<[String]>([])
        var all: [String] { held.withLock { $0 } }
        func add(_ line: String) { held.withLock { $0.append(line) } }
    }

    @Test(
        arguments: [
            ("lose@2", [1, 3, 4, 5]), ("repeat@2", [1, 2, 2, 3, 4, 5]), ("swap@2", [1, 3, 2, 4, 5]),
            ("delay@3:50ms", [1, 2, 3, 4, 5]),
            ("lose@1,lose@2,lose@3,lose@4", [5]), ("repeat@1,swap@3", [1, 1, 2, 4, 3, 5]), ("swap@5", [1, 2, 3, 4, 5]),
        ] as [(String, [UInt8])])
    func `notified values are lost, repeated, swapped and delayed as planned`(_ plan: String, _ expected: [UInt8])
        async throws
    {
        let bench = try await Bench(plan)
        try await bench.notify(1...5)
        #expect(try await bench.values(expected.count) == expected)
        #expect(bench.lines.all.count == plan.split(separator: ",").count, "\(bench.lines.all)")
        await bench.close()
    }

    @Test func `a write without response is lost as planned`() async throws {
        let bench = try await Bench("deaf@2")
        for value: UInt8 in 1...3 { bench.central.perform(.write(handle: 16, value: [value], withResponse: false)) }
        for value: UInt8 in [1, 3] {
            let write = try await bench.peripheralEvents.next("a write") {
                if case .write(_, 0xFFE9, let value, nil) = $0 { value } else { nil }
            }
            #expect(write == [value])
        }
        await bench.close()
    }

    @Test func `a response is delayed as planned`() async throws {
        let bench = try await Bench("late@1:80ms")
        bench.central.perform(.write(handle: 19, value: [1], withResponse: true))
        let began = ContinuousClock.now
        bench.peripheral.perform(.respond(token: try await bench.token(), .value([])))
        try await bench.centralEvents.next(.wrote(handle: 19))
        #expect(began.duration(to: .now) >= .milliseconds(80))
        await bench.close()
    }

    /// At the end of the connection the wrapper answers the pending requests, so that the wrapped link releases them.
    @Test func `a lost response becomes an error for the peripheral's stack`() async throws {
        let bench = try await Bench("silent@1")
        bench.central.perform(.write(handle: 19, value: [1], withResponse: true))
        bench.peripheral.perform(.respond(token: try await bench.token(), .value([])))
        bench.central.perform(.disconnect)
        _ = try await bench.centralEvents.next("disconnected") { if case .disconnected = $0 { true } else { nil } }
        try await bench.connect()
        bench.central.perform(.write(handle: 19, value: [2], withResponse: true))
        bench.peripheral.perform(.respond(token: try await bench.token(), .value([])))
        try await bench.centralEvents.next(.wrote(handle: 19))
        await bench.close()
    }

    @Test(arguments: 1...6)
    func `the disconnect fault ends the connection at the N-th operation`(_ number: Int) async throws {
        let bench = try await Bench("disconnect@\(number)")
        // The write, its response and each value count as one operation.
        bench.central.perform(.write(handle: 19, value: [1], withResponse: true))
        if number > 1 { bench.peripheral.perform(.respond(token: try await bench.token(), .value([]))) }
        if number > 2 {
            try await bench.centralEvents.next(.wrote(handle: 19))
            // Wait for each value, because values in transit at the end of the connection are lost.
            for value in 0..<UInt8(number - 3) {
                bench.peripheral.perform(.notify(0xFFE4, value: [value]))
                #expect(try await bench.values(1) == [value])
            }
            bench.peripheral.perform(.notify(0xFFE4, value: [99]))
        }
        let error = try await bench.centralEvents.next("disconnected") {
            if case .disconnected(let error?) = $0 { error } else { nil }
        }
        #expect(error.isTransient)
        #expect(!bench.centralEvents.all.contains(.notification(handle: 12, value: [99])))
        // The fault applies once.
        try await bench.connect()
        await bench.close()
    }

    /// The link reports each value as sent once, and delivers no other values.
    @Test func `every notified value is reported once`() async throws {
        for seed: UInt64 in 1...6 {
            let bench = try await Bench("lose=0.2,repeat=0.2,swap=0.2,delay=0.1:5ms", seed: seed)
            try await bench.notify(1...60)
            let lost = bench.lines.all.filter { $0.contains("lose") }.count
            var values: Set<UInt8> = []
            // All values that the plan does not drop arrive; repeated ones twice.
            while values.count < 60 - lost { values.formUnion(try await bench.values(1)) }
            #expect(values.count == 60 - lost, "seed \(seed)")
            await bench.close()
        }
    }

    @Test func `a plan lists the faults that need ATT PDUs`() throws {
        #expect(try FaultPlan("lose@1,disconnect@4,late=0.1").faultsThatNeedPDUs == [])
        #expect(try FaultPlan("lose@1,mtu=23").faultsThatNeedPDUs == ["mtu=23"])
    }
}
