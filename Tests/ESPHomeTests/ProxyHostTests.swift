import Bluetooth
import Support
import Testing
@testable import ESPHome

extension ProxyHost {
    /// The types of the messages that the host sends after this input.
    fileprivate mutating func requests(_ input: Input, at seconds: Int) -> [Int] {
        ProxyHostTests.requests(handle(input, at: ProxyHostTests.at(seconds)))
    }

    fileprivate mutating func events(_ input: Input, at seconds: Int) -> [CentralEvent] {
        ProxyHostTests.events(handle(input, at: ProxyHostTests.at(seconds)))
    }
}

/// Tests the state machine of a proxy's client with a scripted device.
@Suite struct ProxyHostTests {
    static let address = BluetoothAddress(0xA4C1_3801_0203)
    static let peer = PeerID("A4:C1:38:01:02:03")

    static func at(_ seconds: Int) -> MonotonicInstant { MonotonicInstant(nanoseconds: Int64(seconds) * 1_000_000_000) }

    /// A message from the device.
    static func message(_ type: Int, _ body: (inout ProtobufFields) -> Void = { _ in }) -> [UInt8] {
        var fields = ProtobufFields()
        body(&fields)
        return ProxyFrames.plain(type: type, fields.bytes)
    }

    static let helloAndFeatures = message(2) { $0.put(1, 1) } + message(10) { $0.put(15, 0x3F) }
    static func connection(_ isConnected: Bool, error: UInt64 = 0) -> [UInt8] {
        message(69) {
            $0.put(1, address.value)
            $0.put(2, isConnected ? 1 : 0)
            $0.put(3, 185)
            $0.put(4, error)
        }
    }
    static func about(_ type: Int, _ handle: UInt64, _ more: (inout ProtobufFields) -> Void = { _ in }) -> [UInt8] {
        message(type) {
            $0.put(1, address.value)
            $0.put(2, handle)
            more(&$0)
        }
    }
    /// FFE4 at handle 3 with its descriptor at 4, in the short form.
    static let services =
        message(71) { message in
            var (descriptor, value, service) = (ProtobufFields(), ProtobufFields(), ProtobufFields())
            descriptor.put(2, 4)
            descriptor.put(3, 0x2902)
            value.put(2, 3)
            value.put(3, 0x10)
            value.put(4, descriptor.bytes)
            value.put(5, 0xFFE4)
            service.put(2, 1)
            service.put(3, value.bytes)
            service.put(4, 0xFFE0)
            message.put(1, address.value)
            message.put(2, service.bytes)
        } + message(72) { $0.put(1, address.value) }

    static func requests(_ effects: [ProxyHost.Effect]) -> [Int] {
        effects.compactMap { effect in
            guard case .send(let bytes) = effect else { return nil }
            var frames = ProxyFrames(isEncrypted: false)
            frames.append(bytes)
            guard case .message(let type, _) = frames.next() else { return nil }
            return type
        }
    }
    static func events(_ effects: [ProxyHost.Effect]) -> [CentralEvent] {
        effects.compactMap { if case .event(let event) = $0 { event } else { nil } }
    }

    /// A host after these inputs.
    static func host(after inputs: ProxyHost.Input...) -> ProxyHost {
        var host = ProxyHost(NetworkEndpoint(host: "kitchen", port: 6053), key: nil)
        for input in inputs { _ = host.handle(input, at: at(0)) }
        return host
    }

    /// A host that is connected to a peer and has discovered its services.
    static func connected() -> ProxyHost {
        host(
            after: .request(.connect(peer, limit: .seconds(10))), .opened,
            .received(helloAndFeatures + connection(true)), .request(.discover), .received(services))
    }

    @Test func `a session scans, connects, discovers and subscribes`() {
        var host = Self.host()
        #expect(host.handle(.request(.connect(Self.peer, limit: .seconds(10))), at: Self.at(0)) == [.dial])
        #expect(host.requests(.opened, at: 0) == [1, 3])
        // The host subscribes before it connects, because otherwise the device reports no connections.
        #expect(host.requests(.received(Self.helloAndFeatures), at: 0) == [9, 80, 66, 68])
        #expect(host.events(.received(Self.connection(true)), at: 1) == [.connected(Self.peer, mtu: 185)])
        #expect(host.requests(.request(.discover), at: 1) == [70])
        let value = RemoteCharacteristic(uuid: 0xFFE4, handle: 3, properties: .notify)
        let found = [RemoteService(uuid: 0xFFE0, handle: 1, characteristics: [value])]
        #expect(host.events(.received(Self.services), at: 1) == [.discovered(found)])
        // A device sends the services once per connection.
        #expect(host.handle(.request(.discover), at: Self.at(1)) == [.event(.discovered(found))])
        #expect(host.requests(.request(.subscribe(handle: 3)), at: 1) == [78])
        #expect(host.requests(.received(Self.about(84, 3)), at: 1) == [77])
        #expect(host.events(.received(Self.about(83, 4)), at: 1) == [.subscribed(handle: 3)])
        #expect(
            host.events(.received(Self.about(79, 3) { $0.put(3, [7, 8]) }), at: 1) == [
                .notification(handle: 3, value: [7, 8])
            ])
    }

    @Test func `a 128-bit UUID is decoded from two integers, packed or not`() throws {
        let uuid = BluetoothUUID(high: 0x0001_0203_0405_0607, low: 0x0809_0A0B_0C0D_1912)
        for isPacked in [true, false] {
            var service = ProtobufFields()
            if isPacked {
                service.put(1, ProtobufFields.varint(uuid.high) + ProtobufFields.varint(uuid.low))
            } else {
                service.put(1, uuid.high)
                service.put(1, uuid.low)
            }
            service.put(2, 22)
            // A slice of a message, whose indices do not start at 0.
            let bytes = ([0, 0, 0] + service.bytes)[3...]
            #expect(try ProxyService(bytes).service == RemoteService(uuid: uuid, handle: 22, characteristics: []))
        }
    }

    @Test func `a response to another request is ignored`() {
        var host = Self.connected()
        #expect(host.requests(.request(.write(handle: 3, value: [1], withResponse: false)), at: 1) == [75])
        #expect(host.requests(.request(.read(handle: 3)), at: 1) == [73])
        #expect(
            host.events(
                .received(
                    Self.about(83, 3) + Self.about(84, 3) + Self.about(74, 5) + Self.about(82, 5) { $0.put(3, 1) }),
                at: 1
            ).isEmpty)
        #expect(host.events(.received(Self.about(74, 3) { $0.put(3, [9]) }), at: 1) == [.read(handle: 3, value: [9])])
        #expect(host.events(.received(Self.about(74, 3) { $0.put(3, [9]) }), at: 1).isEmpty)
    }

    @Test func `a rejection of the peer has an ATT error code, and a failure of the device has none`() throws {
        for (error, code, number) in [
            (UInt64(3), LinkError.Code.refused, UInt8?(3)), (0x85, .system, nil),
            (UInt64(bitPattern: -1), .system, nil),
        ] {
            var host = Self.connected()
            _ = host.handle(.request(.read(handle: 3)), at: Self.at(1))
            let events = host.events(.received(Self.about(82, 3) { $0.put(3, error) }), at: 1)
            guard case .readFailed(3, let failure)? = events.first else { Issue.record("\(events)"); return }
            #expect((failure.code, failure.attError) == (code, number))
        }
    }

    @Test func `a request without a response ends the connection`() {
        var host = Self.connected()
        _ = host.handle(.request(.read(handle: 3)), at: Self.at(1))
        _ = host.handle(.received(Self.message(7)), at: Self.at(30))
        #expect(host.requests(.tick, at: 31) == [68])
        guard case .disconnected(let error)? = host.events(.received(Self.connection(false)), at: 32).first else {
            Issue.record("no event"); return
        }
        #expect(error?.code == .timeout)
    }

    @Test func `a connection of a cancelled attempt is ended`() {
        var host = Self.host(
            after: .request(.connect(Self.peer, limit: .seconds(3))), .opened, .received(Self.helloAndFeatures))
        let late = host.handle(.tick, at: Self.at(3))
        #expect(Self.requests(late) == [68])
        guard case .connectFailed(let error)? = Self.events(late).first else { Issue.record("\(late)"); return }
        #expect(error.code == .timeout)
        let connected = host.handle(.received(Self.connection(true)), at: Self.at(4))
        #expect((Self.requests(connected), Self.events(connected)) == ([68], []))
    }

    @Test func `a silent device is pinged and dropped after a minute`() {
        var host = Self.connected()
        #expect(host.requests(.tick, at: 20) == [7])
        #expect(host.requests(.tick, at: 40) == [7])
        let end = host.handle(.tick, at: Self.at(60))
        #expect(end.contains(.close))
        guard case .disconnected(let error?)? = Self.events(end).first else { Issue.record("\(end)"); return }
        #expect(error.isTransient && host.nextDeadline == nil)
    }

    @Test func `an idle host ends its subscription to advertisements`() {
        var host = Self.host(
            after: .request(.startScan), .opened, .received(Self.helloAndFeatures), .request(.stopScan))
        #expect(host.nextDeadline == Self.at(10))
        #expect(host.requests(.tick, at: 10) == [87])
        #expect(host.requests(.request(.startScan), at: 11) == [66])
    }

    @Test func `the loss of the device fails all pending requests`() {
        var host = Self.host(after: .request(.startScan), .request(.connect(Self.peer, limit: .seconds(10))))
        let error = LinkError(.noAdapter, "the device is gone", isTransient: true)
        #expect(host.events(.ended("the device is gone"), at: 1) == [.connectFailed(error), .scanFailed(error)])
        #expect(host.handle(.request(.startScan), at: Self.at(2)) == [.dial])
    }

    @Test func `closing ends when the device has answered, or after a second`() {
        var host = Self.connected()
        #expect(host.requests(.shutDown, at: 1) == [68, 5])
        #expect(host.handle(.received(Self.message(6)), at: Self.at(1)) == [.close, .finished])
        var silent = Self.connected()
        _ = silent.handle(.shutDown, at: Self.at(1))
        #expect(silent.handle(.tick, at: Self.at(2)) == [.close, .finished])
        var untouched = Self.host()
        #expect(untouched.handle(.shutDown, at: Self.at(0)) == [.finished])
    }

    @Test func `frames split at any byte have the same effects`() {
        let traffic = Self.helloAndFeatures + Self.connection(true)
        for cut in 0...traffic.count {
            var host = Self.host(after: .request(.connect(Self.peer, limit: .seconds(10))), .opened)
            let effects =
                host.handle(.received(Array(traffic[..<cut])), at: Self.at(0))
                + host.handle(.received(Array(traffic[cut...])), at: Self.at(0))
            #expect(Self.requests(effects) == [9, 80, 66, 68], "cut at \(cut)")
            #expect(Self.events(effects) == [.connected(Self.peer, mtu: 185)], "cut at \(cut)")
        }
    }

    @Test(arguments: 0..<400 as Range<UInt64>)
    func `invalid messages end the session with a reason`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var host =
            seed % 2 == 0
            ? Self.connected() : Self.host(after: .request(.startScan), .opened, .received(Self.helloAndFeatures))
        let types = [2, 4, 10, 69, 71, 72, 74, 79, 81, 82, 83, 84, 93, 500]
        for turn in 0..<60 {
            var bytes = (0..<Int.random(in: 0..<40, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            if Bool.random(using: &generator) {
                let known =
                    [
                        Self.services, Self.connection(turn % 3 == 0), Self.about(79, 3) { $0.put(3, [1]) },
                        Self.helloAndFeatures,
                    ].randomElement(using: &generator) ?? []
                bytes = known
                if let index = bytes.indices.randomElement(using: &generator) {
                    bytes[index] = UInt8.random(in: 0...255, using: &generator)
                }
            } else {
                bytes = ProxyFrames.plain(type: types.randomElement(using: &generator) ?? 2, bytes)
            }
            let effects = host.handle(.received(bytes), at: Self.at(turn))
            #expect(effects.count < 1000)
            if effects.contains(.close) { return }
            _ = host.handle(.request(.read(handle: UInt16(turn))), at: Self.at(turn))
        }
    }

    @Test func `an invalid length field allocates no memory`() {
        var frames = ProxyFrames(isEncrypted: false)
        frames.append([0, 0xFF, 0xFF, 0xFF, 0x7F, 1])
        #expect(frames.next() == .invalid)
        frames = ProxyFrames(isEncrypted: false)
        frames.append([0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01])
        #expect(frames.next() == .invalid)
        #expect(throws: ProtobufMessage.Malformed.self) {
            try ProtobufMessage([0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 1])
        }
    }
}
