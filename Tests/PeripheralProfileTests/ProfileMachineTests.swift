import Bluetooth
import CommandSupport
import Foundation
import Testing

@testable import Emulator

@Suite struct ProfileMachineTests {
    private typealias Exchange = PeripheralProfile.Exchange

    /// 2A19 at 3 with 2902 at 4. FF01 at 6, read twice as 1 and 2, and written.
    private static func profile(_ exchanges: [PeripheralProfile.Exchange], rules: [PeripheralProfile.Rule] = [])
        -> PeripheralProfile
    {
        var profile = PeripheralProfile(address: BluetoothAddress(1), mtu: 65)
        let battery = PeripheralProfile.Characteristic(
            uuid: 0x2A19, declaration: 2, handle: 3, properties: [.read, .notify],
            descriptors: [.init(uuid: 0x2902, handle: 4)])
        let own = PeripheralProfile.Characteristic(
            uuid: 0xFF01, declaration: 5, handle: 6, properties: [.read, .write, .writeWithoutResponse], value: [9])
        profile.services = [
            PeripheralProfile.Service(uuid: 0x180F, handle: 1, end: 9, characteristics: [battery, own])
        ]
        profile.conversations = [PeripheralProfile.Conversation(exchanges)]
        profile.rules = rules
        return profile
    }

    private static let reads = [1, 2, 3].map { Exchange(.read, handle: 6, response: .init(value: [$0])) }

    @Test(arguments: [
        (ProfileMachine.Mode.once, ["01", "02", "03", "03", "03"]), (.loop, ["01", "02", "03", "01", "02"]),
        (.strict, ["01", "02", "03", "14", "14"]), (.new, ["01", "02", "03", "03", "03"]),
    ])
    func `repeated reads return the recorded values in order`(mode: ProfileMachine.Mode, expected: [String]) throws {
        let world = try World(Self.profile(Self.reads), mode)
        let host = world.connect()
        let found = try (0..<5).map { _ in
            switch try host.read(6) {
            case .success(let value): Octets(value).description
            case .failure(let error): error.description
            }
        }
        #expect(found == expected)
        #expect(
            world.reported
                == (mode == .strict
                    ? Array(repeating: "the host read 6 (FF01); the capture has no further request", count: 2)
                    : []))
    }

    @Test func `an unrecorded read returns the last value or an error`() throws {
        let world = try World(Self.profile([]))
        let host = world.connect()
        #expect(try host.read(6).get() == [9])
        #expect(throws: Host.Failure(description: "14")) { _ = try host.read(3).get() }
        #expect(try host.request(.writeRequest(handle: 6, value: [5])) == .writeResponse)
        #expect(
            try host.request(.writeRequest(handle: 3, value: [5]))
                == .errorResponse(request: .writeRequest, handle: 3, error: .writeNotPermitted))
        #expect(try host.read(6).get() == [9])
        #expect(
            world.logged.contains(
                "the host wrote 05 to 6 (FF01), which is not in the capture: accepted without effect"))
        #expect(
            world.logged.contains(
                "the host read 3 (2A19), which is not in the capture: rejected: its value is not in the capture")
        )
    }

    @Test func `strict mode rejects a request in another order and reports it`() throws {
        let subscription = Exchange(
            .write, handle: 4, value: [1, 0], response: .init(), values: [.init(handle: 3, value: [50], afterMs: 700)])
        let world = try World(
            Self.profile([subscription, Exchange(.write, handle: 6, value: [7], response: .init(afterMs: 20))]), .strict
        )
        let host = world.connect()
        #expect(
            try host.request(.writeRequest(handle: 6, value: [7]))
                == .errorResponse(request: .writeRequest, handle: 6, error: .unlikelyError))
        #expect(
            world.reported == [
                "the host wrote 07 to 6 (FF01); expected by the capture: the host wrote 0100 to 4 (2902)"
            ])
        #expect(try host.request(.writeRequest(handle: 4, value: [1, 0])) == .writeResponse)
        #expect(try host.take(1) == [ATTHandleValue(3, [50])])
        #expect(try host.request(.writeRequest(handle: 6, value: [7])) == .writeResponse)
        #expect(world.reported.count == 1)
    }

    @Test func `responses keep the recorded delay`() throws {
        let request = Exchange(
            .command, handle: 6, value: [1],
            values: [10, 400, 400, 1000].map { .init(handle: 3, value: [UInt8($0 % 250)], afterMs: $0) })
        let world = try World(Self.profile([Exchange(.write, handle: 4, value: [1, 0], response: .init()), request]))
        let host = world.connect()
        _ = try host.request(.writeRequest(handle: 4, value: [1, 0]))
        #expect(try host.repeatExchange(request) == [])
        let values = try world.recorded().conversations.flatMap(\.exchanges).last?.values
        #expect(values?.map(\.afterMs) == [10, 400, 400, 1000])
    }

    @Test func `in loop mode a subscription's values repeat until it ends`() throws {
        let stream = Exchange(
            .write, handle: 4, value: [1, 0], response: .init(),
            values: [100, 200].map { .init(handle: 3, value: [UInt8($0)], afterMs: $0) })
        let world = try World(Self.profile([stream]), .loop)
        let host = world.connect()
        _ = try host.request(.writeRequest(handle: 4, value: [1, 0]))
        #expect(try host.take(5).map(\.value) == [[100], [200], [100], [200], [100]])
        _ = try host.request(.writeRequest(handle: 4, value: [0, 0]))
        #expect(throws: Host.Failure.self) { _ = try host.take(1) }
    }

    @Test func `values recorded before the subscription are sent after it`() throws {
        let world = try World(
            Self.profile([
                Exchange(
                    .connect,
                    values: [.init(handle: 3, value: [1], afterMs: 5), .init(handle: 3, value: [2], afterMs: 900)])
            ]))
        let host = world.connect()
        try world.wait(5000)
        _ = try host.request(.writeRequest(handle: 4, value: [1, 0]))
        #expect(try host.take(2).map(\.value) == [[1], [2]])
    }

    /// bluetoothd 5.66 does not distinguish notifications from indications if a characteristic supports both.
    @Test(arguments: [true, false], [ProfileMachine.Mode.once, .strict])
    func `a recorded write matches on a link that does not report the kind of write`(
        distinguishesWrites: Bool, mode: ProfileMachine.Mode
    ) {
        var machine = ProfileMachine(
            Self.profile([Exchange(.write, handle: 6, value: [1], response: .init())]), mode: mode,
            distinguishesWrites: distinguishesWrites)
        let (now, host) = (MonotonicInstant(nanoseconds: 0), CentralID("1"))
        _ = machine.handle(.link(.connected(host)), at: now)
        let effects = machine.handle(
            .link(.write(host, BluetoothUUID(high: 0, low: 6), value: [1], token: nil)), at: now)
        #expect(effects.isEmpty == !distinguishesWrites)
    }

    // MARK: rules

    private static let rules: [PeripheralProfile.Rule] = [
        PeripheralProfile.Rule(
            name: "hello", request: .command, handle: 6, pattern: BytePattern("a5 ?? *"),
            values: [.init(handle: 3, value: [1], afterMs: 10)], then: "more"),
        PeripheralProfile.Rule(name: "more", request: .connect, values: [.init(handle: 3, value: [2], afterMs: 10)]),
        PeripheralProfile.Rule(
            name: "no", request: .write, pattern: BytePattern("ff*"), response: .init(error: 0x81, afterMs: 5)),
        PeripheralProfile.Rule(name: "round", request: .write, pattern: BytePattern("ee"), then: "round"),
        PeripheralProfile.Rule(name: "read", request: .read, handle: 3, response: .init(value: [0x4D])),
    ]

    @Test func `unrecorded commands are answered by rules and reported in mode new`() throws {
        let world = try World(Self.profile(Self.reads, rules: Self.rules), .new)
        let host = world.connect()
        _ = try host.request(.writeRequest(handle: 4, value: [1, 0]))
        #expect(
            try host.repeatExchange(
                Exchange(
                    .command, handle: 6, value: [0xA5, 7, 8],
                    values: [.init(handle: 3, value: [1]), .init(handle: 3, value: [2])])) == [])
        #expect(
            try host.request(.writeRequest(handle: 6, value: [0xFF, 1]))
                == .errorResponse(request: .writeRequest, handle: 6, error: ATTErrorCode(0x81)))
        #expect(try host.read(3).get() == [0x4D])
        #expect(try host.read(6).get() == [1])
        #expect(
            world.reported == [
                """
                the host wrote a50708 without response to 6 (FF01), which is not in the capture: answered by the \
                rule 'hello'
                """,
                "the host wrote ff01 to 6 (FF01), which is not in the capture: answered by the rule 'no'",
                "the host read 3 (2A19), which is not in the capture: answered by the rule 'read'",
            ])
    }

    @Test func `rules that trigger each other endlessly are stopped`() throws {
        let world = try World(Self.profile([], rules: Self.rules), .new)
        let host = world.connect()
        #expect(try host.request(.writeRequest(handle: 6, value: [0xEE])) == .writeResponse)
        #expect(world.logged.contains("stopped after 64 chained rules for one request"))
        #expect(try host.read(3).get() == [0x4D])
    }

    @Test func `response rules do not apply in once mode`() throws {
        let world = try World(Self.profile([], rules: Self.rules), .once)
        let host = world.connect()
        #expect(throws: Host.Failure(description: "14")) { _ = try host.read(3).get() }
    }

    // MARK: connections and bounds

    @Test func `a second central is rejected and advertising resumes after the first`() {
        var machine = ProfileMachine(Self.profile([]))
        let now = MonotonicInstant(nanoseconds: 0)
        let (one, two) = (CentralID("1"), CentralID("2"))
        #expect(machine.handle(.link(.connected(one)), at: now).contains(.link(.advertise(false))))
        #expect(machine.handle(.link(.connected(two)), at: now).contains(.link(.disconnect(two))))
        #expect(machine.handle(.link(.disconnected(two)), at: now) == [])
        #expect(machine.handle(.link(.disconnected(one)), at: now).contains(.link(.advertise(true))))
    }

    @Test func `a profile can have a thousand characteristics of one UUID with 512-byte values`() throws {
        var profile = PeripheralProfile(address: BluetoothAddress(1), mtu: 517)
        profile.advertisement = []
        profile.services = [PeripheralProfile.Service(uuid: 0xFF00, handle: 1, end: .max)]
        var exchanges: [PeripheralProfile.Exchange] = []
        for number in 0..<1000 {
            let handle = UInt16(3 + 3 * number)
            let value = Octets([UInt8](repeating: UInt8(number % 256), count: 512))
            profile.services[0].characteristics.append(
                PeripheralProfile.Characteristic(
                    uuid: 0xFF01, declaration: handle - 1, handle: handle, properties: .read, value: value))
            exchanges.append(Exchange(.read, handle: handle, response: PeripheralProfile.Response(value: value)))
        }
        profile.conversations = [PeripheralProfile.Conversation(exchanges)]
        try profile.check()
        var clone = try RoundTripTests.replay(profile, .strict).clone
        clone.gaps = []
        #expect(clone.services == profile.services && clone.conversations == profile.conversations)
    }

    @Test func `a profile can have no services, and services of the stack can be left out`() throws {
        let none = PeripheralProfile(address: BluetoothAddress(1))
        let world = try World(none)
        try world.connect().discover()
        #expect(try world.recorded().services == [])

        var profile = Self.profile(Self.reads)
        profile.services[0].uuid = 0x1801
        let rest = profile.excluding(PeripheralProfile.stackServices)
        #expect(rest.services == [] && rest.exchangeCount == 0)
    }

    @Test func `a missing subscription descriptor is added at an unused handle`() throws {
        var profile = Self.profile([])
        profile.services[0].characteristics[0].descriptors = []
        let (application, remarks) = profile.application()
        #expect(application.services[0].characteristics[0].descriptors.map(\.handle) == [4])
        #expect(
            remarks == [
                "the subscription of 2A19 at 3 is at 4, the first free handle: the capture does not show its handle"
            ])
        profile.services[0].characteristics[1].declaration = 4
        #expect(profile.application().remarks == ["2A19 at 3 has no subscription: no free handle"])
    }
}
