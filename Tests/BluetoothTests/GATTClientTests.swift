import Bluetooth
import Testing

/// A GATT client whose server is scripted by the test.
private struct Client {
    var machine = CentralMachine()
    var now = MonotonicInstant.start
    var events: [CentralEvent] = []
    var log: [String] = []
    var isClosed = false

    /// Creates a connected client with this MTU.
    init(mtu: Int = 517) {
        _ = feed(.request(.connect(PeerID("p"), limit: .seconds(5))))
        #expect(feed(.opened) == [bytes("02 05 02")])
        _ = feed(.received(ATTPDU.exchangeMTUResponse(mtu: UInt16(mtu)).encoded))
        #expect(events == [.connected(PeerID("p"), mtu: mtu)])
        events = []
    }

    mutating func feed(_ input: CentralMachine.Input) -> [[UInt8]] {
        var sent: [[UInt8]] = []
        for effect in machine.handle(input, at: now) {
            switch effect {
            case .send(let pdu): sent.append(pdu)
            case .event(let event): events.append(event)
            case .close: isClosed = true
            case .log(let line): log.append(line)
            case .scan, .open: break
            }
        }
        return sent
    }

    /// Passes a PDU of the server to the client, and returns the client's PDUs as text.
    mutating func receive(_ pdu: String) -> String { feed(.received(bytes(pdu))).map(hex).joined(separator: " | ") }
    mutating func request(_ request: CentralRequest) -> String {
        feed(.request(request)).map(hex).joined(separator: " | ")
    }

    /// Discovers one service FFE0 (handles 1–5) with FFE4 at handle 3 and its CCCD at 4.
    mutating func discoverBottle(properties: String = "12") {
        #expect(request(.discover) == "10 01 00 FF FF 00 28")
        #expect(receive("11 06 01 00 05 00 E0 FF") == "10 06 00 FF FF 00 28")
        #expect(receive("01 10 06 00 0A") == "08 02 00 05 00 03 28")
        #expect(receive("09 07 02 00 \(properties) 03 00 E4 FF") == "08 03 00 05 00 03 28")
        #expect(receive("01 08 03 00 0A") == "04 04 00 05 00")
        #expect(receive("05 01 04 00 02 29 05 00 01 29") == "")
        events = []
    }
}

@Suite struct GATTClientTests {
    @Test func `discovery finds services, characteristics and descriptors`() {
        var client = Client()
        client.discoverBottle()
        _ = client.request(.discover)
        _ = client.receive("11 06 01 00 05 00 E0 FF 06 00 06 00 E1 FF")
        #expect(client.receive("11 06 07 00 FF FF E5 FF") == "08 02 00 05 00 03 28")
        _ = client.receive("09 07 02 00 12 03 00 E4 FF")
        #expect(client.receive("01 08 03 00 0A") == "08 08 00 FF FF 03 28")
        #expect(client.receive("09 07 08 00 04 09 00 E9 FF 20 00 02 21 00 00 2A") == "08 21 00 FF FF 03 28")
        #expect(client.receive("01 08 21 00 0A") == "04 04 00 05 00")
        #expect(client.receive("01 04 04 00 0A") == "04 0A 00 1F 00")
        #expect(client.receive("05 01 1F 00 01 29") == "04 22 00 FF FF")
        #expect(client.receive("01 04 22 00 0A") == "")
        #expect(
            client.events == [
                .discovered([
                    RemoteService(
                        uuid: 0xFFE0, handle: 1,
                        characteristics: [RemoteCharacteristic(uuid: 0xFFE4, handle: 3, properties: [.read, .notify])]),
                    RemoteService(uuid: 0xFFE1, handle: 6, characteristics: []),
                    RemoteService(
                        uuid: 0xFFE5, handle: 7,
                        characteristics: [
                            RemoteCharacteristic(uuid: 0xFFE9, handle: 9, properties: .writeWithoutResponse),
                            RemoteCharacteristic(uuid: 0x2A00, handle: 0x21, properties: .read),
                        ]),
                ])
            ])
    }

    @Test func `discovery of an empty server returns no services`() {
        var client = Client()
        _ = client.request(.discover)
        #expect(client.receive("01 10 01 00 0A") == "")
        #expect(client.events == [.discovered([])])
    }

    @Test func `subscribing writes the Client Characteristic Configuration`() {
        for (properties, bits) in [("12", "01 00"), ("22", "02 00"), ("32", "01 00")] {
            var client = Client()
            client.discoverBottle(properties: properties)
            #expect(client.request(.subscribe(handle: 3)) == "12 04 00 " + bits)
            _ = client.receive("13")
            #expect(client.events == [.subscribed(handle: 3)])
        }
        var client = Client()
        client.discoverBottle()
        _ = client.request(.subscribe(handle: 3))
        _ = client.receive("01 12 04 00 05")
        guard case .subscribeFailed(handle: 3, let error)? = client.events.first else {
            Issue.record("\(client.events)"); return
        }
        #expect(error.code == .refused && error.attError == 5)
        #expect(error.sentence.contains("Insufficient Authentication (0x05)"))
    }

    @Test func `subscribing fails without a discovered, notifying characteristic`() {
        var client = Client()
        _ = client.request(.subscribe(handle: 3))
        client.discoverBottle(properties: "02")
        _ = client.request(.subscribe(handle: 3))
        _ = client.request(.subscribe(handle: 9))
        #expect(client.events.count == 2)
        #expect(
            client.events.allSatisfy {
                if case .subscribeFailed(_, let error) = $0 { error.code == .invalidState } else { false }
            })
    }

    @Test func `a long value is read with Read Blob to its end`() {
        var client = Client(mtu: 23)
        let value = (0..<50).map { UInt8($0) }
        #expect(client.request(.read(handle: 3)) == "0A 03 00")
        #expect(client.feed(.received([0x0B] + value[..<22])) == [bytes("0C 03 00 16 00")])
        #expect(client.feed(.received([0x0D] + value[22..<44])) == [bytes("0C 03 00 2C 00")])
        #expect(client.feed(.received([0x0D] + value[44...])).isEmpty)
        #expect(client.events == [.read(handle: 3, value: value)])
    }

    @Test(arguments: ["0D", "01 0C 03 00 0B", "01 0C 03 00 07"])
    func `a value that fills its PDU exactly is read completely`(end: String) {
        var client = Client(mtu: 23)
        _ = client.request(.read(handle: 3))
        _ = client.feed(.received([0x0B] + Array(repeating: 1, count: 22)))
        _ = client.receive(end)
        #expect(client.events == [.read(handle: 3, value: Array(repeating: 1, count: 22))])
    }

    @Test func `a value longer than 512 bytes is rejected`() {
        var client = Client(mtu: 23)
        _ = client.request(.read(handle: 3))
        var requests = 1
        var next = client.feed(.received([0x0B] + Array(repeating: 1, count: 22)))
        while !next.isEmpty, requests < 100 {
            requests += 1
            next = client.feed(.received([0x0D] + Array(repeating: 1, count: 22)))
        }
        guard case .readFailed(handle: 3, let error)? = client.events.first else {
            Issue.record("\(client.events)"); return
        }
        #expect(error.code == .protocolViolation)
        #expect(requests == 24)
    }

    @Test func `a rejected read reports the ATT error`() {
        var client = Client()
        _ = client.request(.read(handle: 3))
        _ = client.receive("01 0A 03 00 02")
        guard case .readFailed(handle: 3, let error)? = client.events.first else {
            Issue.record("\(client.events)"); return
        }
        #expect(error.sentence == "the peer rejected the read of handle 3: Read Not Permitted (0x02)")
    }

    @Test func `values are written with and without response`() {
        var client = Client(mtu: 23)
        #expect(client.request(.write(handle: 9, value: [1], withResponse: true)) == "12 09 00 01")
        _ = client.receive("13")
        #expect(client.request(.write(handle: 9, value: [2], withResponse: false)) == "52 09 00 02")
        #expect(client.events == [.wrote(handle: 9), .wrote(handle: 9)])
    }

    @Test(arguments: [(23, 20), (517, 512)], [true, false])
    func `a value that does not fit in one PDU is not written`(sizes: (mtu: Int, maximum: Int), withResponse: Bool) {
        var client = Client(mtu: sizes.mtu)
        let value = [UInt8](repeating: 5, count: sizes.maximum + 1)
        #expect(client.request(.write(handle: 9, value: value, withResponse: withResponse)) == "")
        guard case .writeFailed(handle: 9, let error)? = client.events.last else {
            Issue.record("\(client.events)"); return
        }
        #expect(error.code == .invalidState && error.sentence.contains("the maximum is \(sizes.maximum)"))
        #expect(client.request(.write(handle: 9, value: [UInt8](value.dropLast()), withResponse: withResponse)) != "")
    }

    @Test func `values arrive by notification and by confirmed indication`() {
        var client = Client()
        #expect(client.receive("1B 03 00 AA") == "")
        #expect(client.receive("1D 03 00 BB") == "1E")
        #expect(client.receive("23 03 00 01 00 CC 05 00 01 00 DD") == "")
        #expect(
            client.events == [
                .notification(handle: 3, value: [0xAA]), .notification(handle: 3, value: [0xBB]),
                .notification(handle: 3, value: [0xCC]), .notification(handle: 5, value: [0xDD]),
            ])
    }

    @Test func `one request is outstanding at a time`() {
        var client = Client()
        #expect(client.request(.read(handle: 3)) == "0A 03 00")
        #expect(client.request(.read(handle: 5)) == "")
        #expect(client.receive("0B 01") == "0A 05 00")
        #expect(client.receive("0B 02") == "")
        #expect(client.events == [.read(handle: 3, value: [1]), .read(handle: 5, value: [2])])
        for _ in 0..<66 { _ = client.request(.read(handle: 3)) }
        guard case .readFailed(handle: 3, let error)? = client.events.last else {
            Issue.record("\(client.events)"); return
        }
        #expect(error.code == .invalidState)
        #expect(client.events.count == 3)
    }

    @Test func `requests of the server's own client are answered`() {
        var client = Client()
        #expect(client.receive("02 05 02") == "03 05 02")
        #expect(client.receive("10 01 00 FF FF 00 28") == "01 10 01 00 0A")
        #expect(client.receive("0A 03 00") == "01 0A 03 00 01")
        #expect(client.receive("3E") == "01 3E 00 00 06")
        #expect(client.receive("52 03 00 01") == "")
        #expect(!client.isClosed)
    }
}

/// Malicious, silent and invalid servers. Each causes a clear error.
@Suite struct HostileServerTests {
    @Test(arguments: [
        "11 06 01 00 05 00 E0 FF 05 00 06 00 E1 FF", "11 06 00 00 05 00 E0 FF", "11 06 05 00 04 00 E0 FF",
        "11 07 01 00 05 00 E0 FF 00",
    ])
    func `discovery rejects invalid service lists`(answer: String) { expectDiscoveryToFail([answer]) }

    @Test(arguments: [
        "09 07 01 00 12 03 00 E4 FF", "09 07 02 00 12 02 00 E4 FF", "09 07 02 00 12 06 00 E4 FF",
        "09 06 02 00 12 03 00 E4",
        "09 07 02 00 12 03 00 E4 FF 02 00 12 04 00 E4 FF", "09 07 03 00 12 05 00 E4 FF 04 00 12 05 00 E4 FF",
    ])
    func `discovery rejects invalid characteristic declarations`(answer: String) {
        expectDiscoveryToFail(["11 06 01 00 05 00 E0 FF", "01 10 06 00 0A", answer])
    }

    @Test(arguments: ["05 01 03 00 02 29", "05 01 06 00 02 29", "05 01 05 00 02 29 04 00 01 29"])
    func `discovery rejects invalid descriptor lists`(answer: String) {
        expectDiscoveryToFail([
            "11 06 01 00 05 00 E0 FF", "01 10 06 00 0A", "09 07 02 00 12 03 00 E4 FF", "01 08 03 00 0A", answer,
        ])
    }

    private func expectDiscoveryToFail(_ answers: [String]) {
        var client = Client()
        _ = client.request(.discover)
        for answer in answers { _ = client.receive(answer) }
        guard case .discoveryFailed(let error)? = client.events.first else { Issue.record("\(client.events)"); return }
        #expect(error.code == .protocolViolation && !error.sentence.isEmpty)
        #expect(client.events.count == 1)
    }

    @Test func `discovery of an endless table ends`() {
        var client = Client()
        _ = client.request(.discover)
        var handle: UInt16 = 1
        while client.events.isEmpty, handle < 2000 {
            _ = client.feed(
                .received(ATTPDU.readByGroupTypeResponse([ATTGroupValue(handle, handle, [0, 0x18])]).encoded))
            handle += 1
        }
        guard case .discoveryFailed(let error)? = client.events.first else { Issue.record("\(client.events)"); return }
        #expect(error.sentence.contains("more than 256 services"))
    }

    @Test func `a rejected discovery reports the ATT error`() {
        var client = Client()
        _ = client.request(.discover)
        _ = client.receive("01 10 01 00 06")
        guard case .discoveryFailed(let error)? = client.events.first else { Issue.record("\(client.events)"); return }
        #expect(error.code == .refused && error.attError == 6)
    }

    @Test(
        arguments: [
            (nil, "1B 03", "malformed"), (nil, "", "malformed"), (nil, "1E 00", "malformed"),
            (.read(handle: 3), "01 0A", "malformed Error Response"),
        ] as [(CentralRequest?, String, String)])
    func `malformed PDUs end the connection, with and without a request`(
        request: CentralRequest?, pdu: String, words: String
    ) {
        var client = Client()
        if let request { _ = client.request(request) }
        _ = client.receive(pdu)
        guard case .disconnected(let error?)? = client.events.first else { Issue.record("\(client.events)"); return }
        #expect(error.code == .protocolViolation)
        #expect(error.description.contains(words))
        #expect(client.isClosed && client.events.count == 1)
    }

    @Test(arguments: ["0B 01", "01 0A 03 00 01", "03 05 02", "13"])
    func `a response without a request is ignored`(pdu: String) {
        var client = Client()
        #expect(client.receive(pdu) == "" && client.events.isEmpty && !client.isClosed)
        #expect(client.request(.read(handle: 3)) == "0A 03 00")
    }

    @Test(arguments: ["0D 01", "13", "01 12 03 00 01", "03 05 02"])
    func `a response to another request is ignored`(pdu: String) {
        var client = Client()
        _ = client.request(.read(handle: 3))
        #expect(client.receive(pdu) == "" && client.events.isEmpty && !client.isClosed)
        _ = client.receive("0B 07")
        #expect(client.events == [.read(handle: 3, value: [7])])
    }

    @Test func `the next connection skips an MTU exchange that got no response`() {
        var machine = CentralMachine()
        func connect(at now: MonotonicInstant) -> [CentralMachine.Effect] {
            _ = machine.handle(.request(.connect(PeerID("p"), limit: .seconds(5))), at: now)
            return machine.handle(.opened, at: now)
        }
        #expect(connect(at: .start) == [.send(bytes("02 05 02"))])
        let later = MonotonicInstant.start.advanced(by: .seconds(5))
        guard case .event(.connectFailed(let error))? = machine.handle(.tick, at: later).last else {
            Issue.record("the attempt does not end")
            return
        }
        #expect(error.isTransient)
        #expect(connect(at: later) == [.event(.connected(PeerID("p"), mtu: 23))])
    }

    @Test func `a read is repeated when its response might be the previous one`() {
        var client = Client()
        _ = client.request(.read(handle: 3))
        _ = client.request(.read(handle: 5))
        #expect(client.receive("0B 01") == "0A 05 00")
        #expect(client.receive("0B 01") == "0A 05 00")
        _ = client.receive("0B 02")
        _ = client.receive("0B 02")
        #expect(client.events == [.read(handle: 3, value: [1]), .read(handle: 5, value: [2])])
    }

    @Test func `an error for another handle than the request's is ignored`() {
        var client = Client()
        _ = client.request(.read(handle: 12))
        #expect(client.receive("01 0A 03 00 01") == "")
        _ = client.receive("0B 07")
        #expect(client.events == [.read(handle: 12, value: [7])])
    }

    @Test func `discovery ignores repeated responses and ends a search at any error`() {
        var client = Client()
        _ = client.request(.discover)
        for answer in [
            "11 06 01 00 05 00 E0 FF", "11 06 01 00 05 00 E0 FF", "11 06 06 00 06 00 0F 18", "11 06 01 00 05 00 E0 FF",
            "01 10 07 00 01", "01 10 07 00 01", "09 07 02 00 12 03 00 E4 FF", "09 07 02 00 12 03 00 E4 FF",
            "01 08 03 00 0E", "01 08 06 00 0A", "05 01 04 00 02 29", "05 01 04 00 02 29", "01 04 05 00 0A",
        ] { _ = client.receive(answer) }
        guard case .discovered(let services)? = client.events.first else { Issue.record("\(client.events)"); return }
        #expect(services.map(\.characteristics.count) == [1, 0])
        #expect(client.request(.subscribe(handle: 3)) == "12 04 00 01 00")
    }

    @Test func `equal errors for handle 0 end the searches of different services`() {
        var client = Client()
        _ = client.request(.discover)
        for answer in [
            "11 06 01 00 03 00 E0 FF 04 00 06 00 E5 FF", "01 10 00 00 0A",
            "09 07 02 00 12 03 00 E4 FF", "01 08 00 00 0A", "09 07 05 00 12 06 00 E9 FF", "01 08 00 00 0A",
        ] { _ = client.receive(answer) }
        guard case .discovered(let services)? = client.events.first else { Issue.record("\(client.events)"); return }
        #expect(services.map(\.characteristics.count) == [1, 1])
    }

    @Test func `a PDU longer than any MTU is malformed`() {
        var client = Client()
        _ = client.feed(.received([0x1B, 3, 0] + Array(repeating: 0, count: 600)))
        #expect(client.isClosed)
    }

    @Test func `the connection ends when a response takes more than 30 s`() {
        var client = Client()
        _ = client.request(.read(handle: 3))
        #expect(client.machine.nextDeadline == .after(.seconds(30)))
        client.now = .after(.milliseconds(29_999))
        _ = client.feed(.tick)
        #expect(client.events.isEmpty)
        client.now = .after(.seconds(30))
        _ = client.feed(.tick)
        guard case .disconnected(let error?)? = client.events.first else { Issue.record("\(client.events)"); return }
        #expect(error.code == .timeout && error.sentence.contains("Read Request was not answered in 30 s"))
        #expect(client.machine.nextDeadline == nil)
        // A late response is dropped.
        #expect(client.receive("0B 01") == "")
    }

    @Test func `the connection ends when a discovery takes more than 60 s`() {
        var client = Client()
        _ = client.request(.discover)
        client.now = .after(.seconds(29))
        _ = client.receive("11 06 01 00 05 00 E0 FF")
        client.now = .after(.seconds(58))
        _ = client.receive("11 06 06 00 07 00 E0 FF")
        client.now = .after(.seconds(60))
        _ = client.feed(.tick)
        guard case .disconnected(let error?)? = client.events.first else { Issue.record("\(client.events)"); return }
        #expect(error.sentence.contains("too slowly"))
    }

    @Test func `errors of a peer log at most 21 lines`() {
        var client = Client()
        for _ in 0..<100 { _ = client.receive("7E 00") }
        #expect(client.log.count == 21)
    }
}

@Suite struct CentralMachineTests {
    private let peer = PeerID("p")

    @Test func `a connection attempt ends at its time limit`() {
        var machine = CentralMachine()
        #expect(machine.handle(.request(.connect(peer, limit: .seconds(5))), at: .start) == [.open(peer)])
        #expect(machine.nextDeadline == .after(.seconds(5)))
        let effects = machine.handle(.tick, at: .after(.seconds(5)))
        guard effects.first == .close, case .event(.connectFailed(let error))? = effects.last else {
            Issue.record("\(effects)"); return
        }
        #expect(error.code == .timeout && effects.count == 2)
        #expect(machine.nextDeadline == nil)
    }

    @Test func `a peer that accepts the connection and stays silent is reported`() {
        var machine = CentralMachine()
        _ = machine.handle(.request(.connect(peer, limit: .seconds(5))), at: .start)
        #expect(machine.handle(.opened, at: .start) == [.send(bytes("02 05 02"))])
        guard case .event(.connectFailed(let error))? = machine.handle(.tick, at: .after(.seconds(5))).last else {
            Issue.record(); return
        }
        #expect(error.sentence.contains("another central"))
    }

    @Test func `the MTU stays 23 when the exchange is rejected`() {
        var machine = CentralMachine()
        _ = machine.handle(.request(.connect(peer, limit: .seconds(5))), at: .start)
        _ = machine.handle(.opened, at: .start)
        #expect(
            machine.handle(.received(bytes("01 02 00 00 06")), at: .start).last == .event(.connected(peer, mtu: 23)))
    }

    @Test func `requests without a connection fail`() {
        var machine = CentralMachine()
        for request in [
            CentralRequest.discover, .read(handle: 1), .write(handle: 1, value: [], withResponse: true),
            .subscribe(handle: 1),
        ] {
            let effects = machine.handle(.request(request), at: .start)
            #expect(effects.count == 1 && "\(effects)".contains("not connected"))
        }
        #expect(machine.handle(.request(.disconnect), at: .start) == [.event(.disconnected(nil))])
        #expect(machine.handle(.request(.startScan), at: .start) == [.scan])
    }

    @Test func `the end of a connection is reported once`() {
        var machine = CentralMachine()
        let lost = LinkError(.disconnected, "gone")
        _ = machine.handle(.request(.connect(peer, limit: .seconds(5))), at: .start)
        #expect(machine.handle(.openFailed(lost), at: .start) == [.event(.connectFailed(lost))])
        _ = machine.handle(.request(.connect(peer, limit: .seconds(5))), at: .start)
        _ = machine.handle(.opened, at: .start)
        _ = machine.handle(.received(bytes("03 17 00")), at: .start)
        #expect(machine.handle(.closed(lost), at: .start) == [.event(.disconnected(lost))])
        #expect(machine.handle(.closed(lost), at: .start) == [])
        _ = machine.handle(.request(.connect(peer, limit: .seconds(5))), at: .start)
        _ = machine.handle(.opened, at: .start)
        #expect(machine.handle(.request(.disconnect), at: .start) == [.close, .event(.disconnected(nil))])
    }
}
