import Bluetooth
import Replay
import Testing
import Emulator

@Suite struct ProfileReaderTests {
    private typealias Exchange = PeripheralProfile.Exchange

    @Test func `the profile has the discovered attribute table`() throws {
        var talk = Talk()
        talk.discover()
        let profile = try talk.profile()
        let battery = PeripheralProfile.Characteristic(
            uuid: 0x2A19, declaration: 2, handle: 3, properties: [.read, .notify],
            descriptors: [.init(uuid: 0x2902, handle: 4)])
        let own = PeripheralProfile.Characteristic(
            uuid: 0xFF01, declaration: 5, handle: 6, properties: [.read, .write],
            descriptors: [.init(uuid: 0x2901, handle: 7)])
        #expect(
            profile.services == [
                PeripheralProfile.Service(uuid: 0x180F, handle: 1, end: 9, characteristics: [battery, own])
            ])
        #expect(profile.address == Talk.address)
        #expect(profile.conversations == [])
        #expect(
            profile.gaps == [
                "no advertisement in the capture", "no MTU exchange in the capture: using 23",
                "the values of 2 readable characteristics were never read",
            ])
    }

    @Test func `the profile has secondary services, includes and 128-bit UUIDs`() throws {
        var talk = Talk()
        talk.ask([0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28])
        talk.answer([0x11, 6, 1, 0, 4, 0, 0x0F, 0x18])
        talk.ask([0x10, 1, 0, 0xFF, 0xFF, 0x01, 0x28])
        talk.answer([0x11, 20, 5, 0, 8, 0] + Array(1...16))
        talk.ask([0x08, 1, 0, 0xFF, 0xFF, 0x02, 0x28])
        talk.answer([0x09, 6, 2, 0, 5, 0, 8, 0])
        talk.ask([0x08, 1, 0, 0xFF, 0xFF, 0x03, 0x28])
        talk.answer([0x09, 21, 6, 0, 0x02, 7, 0] + Array(17...32))
        let profile = try talk.profile()
        #expect(profile.services.map(\.secondary) == [nil, true])
        #expect(profile.services.first?.includes == [PeripheralProfile.Include(handle: 2, start: 5, end: 8)])
        #expect(profile.services.last?.uuid == BluetoothUUID(littleEndian: Array(1...16)))
        #expect(profile.characteristics.map(\.uuid) == [BluetoothUUID(littleEndian: Array(17...32))])
    }

    @Test func `the profile has requests, responses, errors, notifications and their times`() throws {
        var talk = Talk()
        talk.discover()
        talk.ask([0x0A, 3, 0])
        talk.answer([0x0B, 77], after: 30)
        talk.ask([0x12, 4, 0, 1, 0])
        talk.answer([0x13], after: 45)
        talk.answer([0x1B, 3, 0, 76], after: 100)
        talk.ask([0x0A, 6, 0])
        talk.answer([0x1B, 3, 0, 75], after: 1)
        talk.answer([0x01, 0x0A, 6, 0, 0x05], after: 2)
        talk.ask([0x52, 6, 0, 0xAA, 0xBB])
        talk.answer([0x1D, 3, 0, 74], after: 250)
        talk.ask([0x1E])
        talk.ask([0x0A, 3, 0])
        talk.answer([0x0B, 74])
        let profile = try talk.profile()
        #expect(
            profile.conversations == [
                PeripheralProfile.Conversation([
                    Exchange(.read, handle: 3, response: .init(value: [77], afterMs: 30)),
                    Exchange(
                        .write, handle: 4, value: [1, 0], response: .init(afterMs: 45),
                        values: [
                            .init(handle: 3, value: [76], afterMs: 145), .init(handle: 3, value: [75], afterMs: 156),
                        ]),
                    Exchange(.read, handle: 6, response: .init(error: 5, afterMs: 3)),
                    Exchange(
                        .command, handle: 6, value: [0xAA, 0xBB],
                        values: [.init(handle: 3, value: [74], afterMs: 250)]),
                    Exchange(.read, handle: 3, response: .init(value: [74], afterMs: 5)),
                ])
            ])
        #expect(profile.characteristics.first?.value == [74])
    }

    @Test func `values read or written in parts are joined`() throws {
        var talk = Talk()
        talk.discover()
        let long = (0..<50).map { UInt8($0) }
        talk.ask([0x0A, 6, 0])
        talk.answer([0x0B] + long[..<22])
        talk.ask([0x0C, 6, 0, 22, 0])
        talk.answer([0x0D] + long[22..<44])
        talk.ask([0x0C, 6, 0, 44, 0])
        talk.answer([0x0D] + long[44...])
        talk.ask([0x16, 6, 0, 0, 0] + long[..<18])
        talk.answer([0x17, 6, 0, 0, 0] + long[..<18])
        talk.ask([0x16, 6, 0, 18, 0] + long[18..<30])
        talk.answer([0x17, 6, 0, 18, 0] + long[18..<30])
        talk.ask([0x18, 1])
        talk.answer([0x19], after: 7)
        // Names are read by type. The response is full, so the host continues.
        talk.ask([0x08, 1, 0, 0xFF, 0xFF, 0x01, 0xFF])
        talk.answer([0x09, 21, 6, 0] + long[..<19])
        talk.ask([0x0C, 6, 0, 19, 0])
        talk.answer([0x01, 0x0C, 6, 0, 0x0B])
        let exchanges = try talk.profile().conversations.flatMap(\.exchanges)
        #expect(
            exchanges == [
                Exchange(.read, handle: 6, response: .init(value: Octets(long), afterMs: 5)),
                Exchange(.write, handle: 6, value: Octets(Array(long[..<30])), response: .init(afterMs: 7)),
                Exchange(.read, handle: 6, response: .init(value: Octets(Array(long[..<19])), afterMs: 5)),
            ])
    }

    @Test func `without discovery the table is derived from traffic and marked as such`() throws {
        var talk = Talk()
        talk.ask([0x12, 0x25, 0, 1, 0])
        talk.answer([0x13])
        talk.answer([0x1B, 0x24, 0, 9])
        talk.ask([0x52, 0x21, 0, 7, 7])
        let profile = try talk.profile()
        #expect(
            profile.services == [
                PeripheralProfile.Service(
                    uuid: nil, handle: 0x1F, end: .max, source: .seen,
                    characteristics: [
                        PeripheralProfile.Characteristic(
                            uuid: nil, declaration: 0x20, handle: 0x21, properties: .writeWithoutResponse, source: .seen
                        ),
                        PeripheralProfile.Characteristic(
                            uuid: nil, declaration: 0x23, handle: 0x24, properties: .notify, source: .seen,
                            descriptors: [.init(uuid: 0x2902, handle: 0x25, source: .seen)]),
                    ])
            ])
        #expect(profile.gaps.contains("no service discovery in the capture: services are derived from the traffic"))
        #expect(profile.gaps.contains("2 of 2 characteristics derived from traffic, not discovered"))
    }

    @Test(.timeLimit(.minutes(20)), arguments: 0..<4)
    func `the time per attribute does not grow with the number of attributes`(kind: Int) throws {
        var talk = Talk()
        func low(_ handle: Int) -> [UInt8] { [UInt8(handle & 0xFF), UInt8(handle >> 8)] }
        for handle in stride(from: 4, through: 65_534, by: 2) {
            switch kind {
            case 0: talk.answer([0x1B] + low(handle) + [1], after: 0)
            case 1:
                talk.ask([0x08] + low(handle - 1) + [0xFF, 0xFF, 0x03, 0x28], after: 0)
                talk.answer([0x09, 7] + low(handle - 1) + [0x02] + low(handle) + [0x01, 0xFF], after: 0)
            case 2:
                talk.ask([0x04] + low(handle - 1) + [0xFF, 0xFF], after: 0)
                talk.answer([0x05, 1] + low(handle - 1) + [0x03, 0x28] + low(handle) + [0x01, 0xFF], after: 0)
            default:
                talk.ask([0x10] + low(handle) + [0xFF, 0xFF, 0x00, 0x28], after: 0)
                talk.answer([0x11, 6] + low(handle) + low(handle + 1) + [0x0F, 0x18], after: 0)
                talk.ask([0x0A] + low(handle + 1), after: 0)
                talk.answer([0x0B, 1], after: 0)
            }
        }
        let profile = try talk.profile()
        #expect((kind == 3 ? profile.services.count : profile.characteristics.count) == 32_766)
    }

    @Test func `too many connections are an error`() throws {
        let (reader, nothing) = (ProfileReader(), [UInt8]())
        #expect(throws: ProfileReaderError.self) {
            for id in 1...100_000 {
                let peer = BluetoothAddress(0xC0FF_EE00_0000 + UInt64(id))
                let connection = ObservedConnection(
                    id: id, handle: 0x40, peer: peer, isPeerRandom: false, isCentral: true)
                try reader.receive(.connected(connection), nothing.span.bytes)
                try reader.receive(.encrypted(connection), nothing.span.bytes)
                try reader.receive(.disconnected(connection, reason: 0x13), nothing.span.bytes)
            }
        }
    }

    @Test func `notifications before the first request belong to the connection`() throws {
        var talk = Talk()
        talk.answer([0x1B, 3, 0, 1], after: 0)
        talk.answer([0x1B, 3, 0, 2], after: 1000)
        #expect(
            try talk.profile().conversations == [
                PeripheralProfile.Conversation([
                    Exchange(
                        .connect, values: [.init(handle: 3, value: [1]), .init(handle: 3, value: [2], afterMs: 1000)])
                ])
            ])
    }

    @Test func `connections of one peripheral give one profile, and several peripherals several`() throws {
        var talk = Talk()
        talk.discover()
        talk.ask([0x0A, 3, 0])
        talk.answer([0x0B, 1])
        talk.connect(2)
        talk.ask([0x0A, 3, 0])
        talk.answer([0x0B, 2])
        talk.connect(3, peer: BluetoothAddress(0xC0FF_EE00_0002))
        talk.ask([0x0A, 8, 0])
        talk.answer([0x0B, 3])
        let found = try talk.peripherals()
        #expect(found.map(\.label) == ["C0:FF:EE:00:00:01", "C0:FF:EE:00:00:02"])
        #expect(found.map(\.profile.conversations.count) == [2, 1])
        #expect(found.first?.profile.characteristics.first?.value == [2])
    }

    @Test func `the profile has advertisement, scan response, name, MTU and encryption`() throws {
        var talk = Talk()
        let (data, response): ([UInt8], [UInt8]) = ([2, 1, 6, 3, 3, 0x0F, 0x18], [3, 9, 0x48, 0x69])
        talk.advertise(data)
        talk.advertise(response, isScanResponse: true)
        talk.ask([0x02, 0xF7, 0])
        talk.answer([0x03, 0xB9, 0])
        talk.encrypt()
        let profile = try talk.profile()
        #expect(profile.advertisement?.bytes == data && profile.scanResponse?.bytes == response)
        #expect(profile.name == "Hi" && profile.mtu == 185)
        #expect(profile.gaps.first == "1 connection became encrypted: later traffic cannot be read")
    }

    /// As an e-scooter does: its request has its own MTU, and the phone's response has the phone's.
    @Test func `the MTU is read from a peripheral that requests the exchange itself`() throws {
        var talk = Talk()
        talk.add([0x02, 0xF7, 0], .received, 1)
        talk.discover()
        talk.add([0x03, 0x05, 2], .sent, 1)
        // The maximum length for an MTU of 23: with 247 the value is complete.
        talk.ask([0x0A, 3, 0])
        talk.answer([0x0B] + [UInt8](repeating: 7, count: 22))
        let profile = try talk.profile()
        #expect(profile.mtu == 247 && !profile.gaps.contains { $0.contains("MTU") })
        #expect(profile.conversations.first?.exchanges.first?.response?.value?.bytes.count == 22)
    }

    /// The host is the peripheral, or the peripheral queries the host (a phone's own services).
    @Test func `the peripheral of a connection is determined by the roles`() throws {
        var talk = Talk(isCentral: false)
        talk.add([0x0A, 3, 0], .received, 1)
        talk.add([0x0B, 1], .sent, 1)
        #expect(try talk.peripherals().map(\.label) == ["the capturing host (no address)"])
        var phone = Talk()
        phone.add([0x0A, 3, 0], .received, 1)
        phone.add([0x0B, 1], .sent, 1)
        #expect(try phone.peripherals().allSatisfy { !$0.hasResponded })
    }

    /// In contradictory tables every handle appears once, in order, or is reported.
    @Test(
        arguments: [
            // Nested characteristics.
            [[0x09, 7, 2, 0, 2, 9, 0, 1, 0xFF, 3, 0, 2, 4, 0, 2, 0xFF]],
            // The same handle twice with different UUIDs.
            [[0x09, 7, 2, 0, 2, 3, 0, 1, 0xFF], [0x09, 7, 2, 0, 2, 3, 0, 2, 0xFF]],
            // A value before its declaration, handle 0, and an item that is too long.
            [
                [0x09, 7, 5, 0, 2, 3, 0, 1, 0xFF], [0x09, 7, 0, 0, 2, 1, 0, 1, 0xFF],
                [0x09, 9, 1, 0, 2, 2, 0, 1, 0xFF, 0, 0],
            ],
            // The lowest handle.
            [[0x09, 7, 1, 0, 2, 2, 0, 1, 0xFF]],
        ] as [[[UInt8]]])
    func `contradictory discovery responses are reported as a gap or give no services`(responses: [[UInt8]]) throws {
        var talk = Talk()
        for answer in responses {
            talk.ask([0x08, 1, 0, 0xFF, 0xFF, 0x03, 0x28])
            talk.answer(answer)
        }
        let profile = try talk.profile()
        #expect(profile.gaps.contains { $0.contains("fits") || $0.contains("changed") } || profile.services.isEmpty)
    }

    @Test func `overlapping services are reported, and the last one ends at FFFF`() throws {
        var talk = Talk()
        talk.ask([0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28])
        talk.answer([0x11, 6, 1, 0, 8, 0, 0x0F, 0x18, 5, 0, 0xFF, 0xFF, 0x0A, 0x18, 9, 0, 0xFF, 0xFF, 0x0B, 0x18])
        let profile = try talk.profile()
        #expect(profile.services.map(\.end) == [4, 8, .max])
        #expect(profile.gaps.contains { $0.contains("overlap") })
    }
}
