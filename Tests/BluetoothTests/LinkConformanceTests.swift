import Bluetooth
import Support
import Testing

@Suite struct LinkConformanceTests {
    @Test(arguments: LinkKind.allCases)
    func `a link carries a whole session`(kind: LinkKind) async throws {
        let bench = try LinkBench(kind)
        try await bench.peripheral.open(smallBottle)
        bench.central.perform(.startScan)
        let found = try await bench.centralEvents.next("advertised") {
            if case .advertised(let found) = $0 { found.peer } else { nil }
        }
        #expect(found == bench.peer)
        bench.central.perform(.connect(found, limit: .seconds(5)))
        try await bench.centralEvents.next(.connected(found, mtu: 517))
        let central = try await bench.peripheralEvents.next("connected") {
            if case .connected(let id) = $0 { id } else { nil }
        }
        try await bench.peripheralEvents.next(.mtuChanged(central, 517))

        bench.central.perform(.discover)
        let services = try await bench.centralEvents.next("discovered") {
            if case .discovered(let all) = $0 { all } else { nil }
        }
        #expect(services.map(\.uuid) == [0x1800, 0x1801] + smallBottle.services.map(\.uuid))
        #expect(
            services.flatMap(\.characteristics).first { $0.uuid == 0xFFE4 }
                == RemoteCharacteristic(uuid: 0xFFE4, handle: 12, properties: [.read, .notify]))

        bench.central.perform(.read(handle: 22))
        try await bench.centralEvents.next(.read(handle: 22, value: Array("A4:C1:38:01:02:03".utf8)))

        bench.central.perform(.subscribe(handle: 12))
        try await bench.centralEvents.next(.subscribed(handle: 12))
        try await bench.peripheralEvents.next(.subscribed(central, 0xFFE4))

        bench.central.perform(.write(handle: 16, value: [0x47, 0x54, 0, 1, 6], withResponse: false))
        try await bench.centralEvents.next(.wrote(handle: 16))
        try await bench.peripheralEvents.next(.write(central, 0xFFE9, value: [0x47, 0x54, 0, 1, 6], token: nil))
        let values = (0..<100).map { number in [UInt8](repeating: number, count: 110) }
        for value in values { bench.peripheral.perform(.notify(0xFFE4, value: value)) }
        for value in values { try await bench.centralEvents.next(.notification(handle: 12, value: value)) }
        for _ in values { try await bench.peripheralEvents.next(.notified(0xFFE4)) }

        bench.central.perform(.write(handle: 19, value: Array(repeating: 9, count: 512), withResponse: true))
        let token = try await bench.peripheralEvents.next("write") { event -> UInt64? in
            if case .write(central, firmware, value: Array(repeating: 9, count: 512), let token) = event {
                token
            } else {
                nil
            }
        }
        bench.peripheral.perform(.respond(token: token, .value([])))
        try await bench.centralEvents.next(.wrote(handle: 19))

        bench.central.perform(.read(handle: 19))
        let reading = try await bench.peripheralEvents.next("read") {
            if case .read(_, _, 0, let token) = $0 { token } else { nil }
        }
        bench.peripheral.perform(.respond(token: reading, .error(0x85)))
        let refusal = try await bench.centralEvents.next("refusal") {
            if case .readFailed(19, let error) = $0 { error.attError } else { nil }
        }
        #expect(refusal == 0x85)

        bench.central.perform(.disconnect)
        try await bench.centralEvents.next(.disconnected(nil))
        try await bench.peripheralEvents.next(.disconnected(central))
        await bench.close()
        try await bench.centralEvents.waitUntilFinished()
        try await bench.peripheralEvents.waitUntilFinished()
    }

    @Test(arguments: LinkKind.allCases)
    func `a disconnect by the peripheral is reported`(kind: LinkKind) async throws {
        let bench = try LinkBench(kind)
        let central = try await bench.connect()
        bench.peripheral.perform(.disconnect(central))
        let error = try await bench.centralEvents.next("disconnected") {
            if case .disconnected(let error?) = $0 { error } else { nil }
        }
        #expect(error.code == .disconnected && error.isTransient)
        for _ in 0..<20 {
            let central = try await bench.reconnect()
            bench.central.perform(.disconnect)
            try await bench.peripheralEvents.next(.disconnected(central))
        }
        await bench.close()
    }

    @Test(arguments: LinkKind.allCases)
    func `a connection waits for a peripheral that does not advertise`(kind: LinkKind) async throws {
        let bench = try LinkBench(kind)
        let first = try await bench.connect()
        bench.peripheral.perform(.advertise(false))
        bench.central.perform(.disconnect)
        bench.central.perform(.connect(bench.peer, limit: .seconds(20)))
        try await bench.peripheralEvents.next(.disconnected(first))
        bench.peripheral.perform(.advertise(true))
        _ = try await bench.centralEvents.next("connected") { if case .connected = $0 { true } else { nil } }
        await bench.close()
    }

    @Test(arguments: LinkKind.allCases)
    func `connecting without a peripheral fails`(kind: LinkKind) async throws {
        let bench = try LinkBench(kind)
        bench.central.perform(.startScan)
        let error = try await bench.centralEvents.next("scanFailed") {
            if case .scanFailed(let error) = $0 { error } else { nil }
        }
        #expect(error.code == .notFound && !error.sentence.isEmpty)
        bench.central.perform(.connect(bench.peer, limit: .milliseconds(200)))
        _ = try await bench.centralEvents.next("connectFailed") {
            if case .connectFailed(let error) = $0 { error } else { nil }
        }
        await bench.close()
    }

    @Test(arguments: LinkKind.allCases)
    func `closing the peripheral ends the connection`(kind: LinkKind) async throws {
        let bench = try LinkBench(kind)
        let central = try await bench.connect()
        await bench.peripheral.close()
        try await bench.peripheralEvents.waitUntilFinished()
        #expect(bench.peripheralEvents.all.contains(.disconnected(central)))
        _ = try await bench.centralEvents.next("disconnected") {
            if case .disconnected(.some) = $0 { true } else { nil }
        }
        await bench.central.close()
    }

    @Test(arguments: LinkKind.allCases)
    func `opening a peripheral link twice is rejected`(kind: LinkKind) async throws {
        let bench = try LinkBench(kind)
        try await bench.peripheral.open(smallBottle)
        await #expect(throws: LinkError.self) { try await bench.peripheral.open(smallBottle) }
        await bench.close()
    }

    /// The peripheral waits, no value is lost, and the memory use is limited.
    @Test(arguments: LinkKind.allCases)
    func `a slow consumer applies back pressure`(kind: LinkKind) async throws {
        let socket = try UnixSocket(path: temporarySocket(), kind: kind.socketKind)
        let ends: (central: any CentralLink, peripheral: any PeripheralLink) =
            kind == .memory ? MemoryLink.pair() : (ATTCentralLink(socket), ATTPeripheralLink(socket))
        let peripheralEvents = Inbox(ends.peripheral.events)
        try await ends.peripheral.open(smallBottle)
        var events = ends.central.events.makeAsyncIterator()
        ends.central.perform(.connect(PeerID("x"), limit: .seconds(5)))
        while let event = await events.next() { if case .connected = event { break } }
        ends.central.perform(.discover)
        ends.central.perform(.subscribe(handle: 12))
        while let event = await events.next() { if case .subscribed = event { break } }

        let count = 4000
        for number in 0..<count {
            ends.peripheral.perform(
                .notify(0xFFE4, value: [UInt8(number & 0xFF), UInt8(number >> 8)] + [UInt8](repeating: 0, count: 500)))
        }
        // The first values are sent and the last are not: the central's event queue is full.
        try await peripheralEvents.next(.notified(0xFFE4))
        var received = 0
        while received < count, let event = await events.next() {
            guard case .notification(12, let value) = event else { continue }
            #expect(Int(value[0]) | Int(value[1]) << 8 == received)
            received += 1
        }
        #expect(received == count)
        for _ in 1..<count { try await peripheralEvents.next(.notified(0xFFE4)) }
        await ends.central.close()
        await ends.peripheral.close()
    }

    @Test(arguments: LinkKind.allCases)
    func `an observer sees every PDU`(kind: LinkKind) async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: LinkObservation.self)
        let bench = try LinkBench(kind, peripheral: LinkInstruments(observe: { continuation.yield($0) }))
        _ = try await bench.connect()
        bench.central.perform(.read(handle: 5))
        try await bench.centralEvents.next(.read(handle: 5, value: [0, 0]))
        await bench.close()
        continuation.finish()
        var events: [LinkObservation.Event] = []
        for await observation in stream {
            #expect(observation.connection == 1)
            events.append(observation.event)
        }
        #expect(
            events == [
                .connected, .pdu(.toPeripheral, bytes("02 05 02")), .pdu(.toCentral, bytes("03 05 02")),
                .pdu(.toPeripheral, bytes("0A 05 00")), .pdu(.toCentral, bytes("0B 00 00")), .disconnected,
            ])
    }
}
