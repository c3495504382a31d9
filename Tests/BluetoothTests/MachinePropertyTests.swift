import Bluetooth
import Support
import Testing

/// Properties of the state machines for random input. Seeds are printed.
@Suite struct MachinePropertyTests {
    private func generator(_ name: String) -> SeededGenerator {
        let seed = UInt64.random(in: 0...(.max))
        print("MachinePropertyTests.\(name) seed \(seed)")
        return SeededGenerator(seed: seed)
    }

    /// Random, nearly valid, or valid bytes.
    private func anyPDU(_ generator: inout SeededGenerator) -> [UInt8] {
        let opcodes: [UInt8] = [
            0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x0E, 0x10, 0x11, 0x12, 0x13,
            0x16, 0x17, 0x18, 0x19, 0x1B, 0x1D, 0x1E, 0x20, 0x21, 0x23, 0x52, 0xD2, 0x7F, 0x3E,
        ]
        var pdu = [
            Bool.random(using: &generator)
                ? opcodes.randomElement(using: &generator) ?? 0 : UInt8.random(in: 0...255, using: &generator)
        ]
        let length = Int.random(in: 0...100, using: &generator) == 0 ? 600 : Int.random(in: 0...24, using: &generator)
        for index in 0..<length {
            // Use handles near the table's, and existing types.
            let small = UInt8.random(in: 0...30, using: &generator)
            let type: UInt8 = index % 2 == 0 ? small : [0, 0, 0x28, 0x29, 0xFF].randomElement(using: &generator) ?? 0
            pdu.append(Int.random(in: 0...9, using: &generator) == 0 ? .random(in: 0...255, using: &generator) : type)
        }
        return Bool.random(using: &generator) ? pdu : Array(pdu.prefix(Int.random(in: 0...7, using: &generator)))
    }

    @Test func `the GATT server survives random inputs`() throws {
        var generator = generator("serverSurvivesAnything")
        for _ in 0..<60 {
            var application = smallBottle
            application.maximumMTU = Int.random(in: 23...517, using: &generator)
            var server = try GATTServer(application)
            let central = CentralID("c")
            var now = MonotonicInstant.start
            var mtu = 23
            var isOpen = false
            var (lines, requests, answers) = (0, 0, 0)
            var tokens: [UInt64] = []
            func take(_ effects: [GATTServer.Effect]) {
                for effect in effects {
                    switch effect {
                    case .send(_, let pdu):
                        #expect(isOpen && !pdu.isEmpty && pdu.count <= max(mtu, 23), "\(hex(pdu)) at MTU \(mtu)")
                        #expect(throws: Never.self) { try ATTPDU(decoding: pdu) }
                        if ATTOpcode(pdu[0]).isResponse { answers += 1 }
                    case .event(.mtuChanged(_, let new)): mtu = new
                    case .event(.connected): isOpen = true
                    case .event(.disconnected): isOpen = false
                    case .event(.read(_, _, _, let token)): tokens.append(token)
                    case .event(.write(_, _, let value, let token)):
                        #expect(value.count <= 512)
                        if let token { tokens.append(token) }
                    case .log(let line):
                        lines += 1
                        #expect(line.utf8.count < 200)
                    case .event, .close, .advertise: break
                    }
                }
            }
            for _ in 0..<600 {
                now = now.advanced(by: .milliseconds(Int.random(in: 0...200, using: &generator)))
                if !isOpen {
                    (mtu, lines, requests, answers) = (23, 0, 0, 0)
                    take(server.handle(.opened(central), at: now))
                }
                switch Int.random(in: 0...20, using: &generator) {
                case 0: take(server.handle(.request(.notify(0xFFE4, value: Array(repeating: 1, count: 600))), at: now))
                case 1: take(server.handle(.request(.notify(0x2A19, value: [1])), at: now))
                case 2, 3, 4, 5:
                    guard let token = tokens.randomElement(using: &generator) else { break }
                    take(
                        server.handle(
                            .request(
                                .respond(token: token, Bool.random(using: &generator) ? .value([1, 2]) : .error(0x80))),
                            at: now))
                case 6: take(server.handle(.tick, at: now))
                case 7:
                    take(
                        server.handle(
                            [.congested(central), .drained(central)].randomElement(using: &generator) ?? .tick, at: now)
                    )
                case 8:
                    if Int.random(in: 0...9, using: &generator) == 0 { take(server.handle(.closed(central), at: now)) }
                default:
                    requests += 1
                    take(server.handle(.received(central, anyPDU(&generator)), at: now))
                }
                #expect(answers <= requests)
                #expect(lines <= 23)
            }
        }
    }

    /// The client does not trap and has at most one pending request. Each request ends in one matching event or a
    /// disconnect.
    @Test func `the GATT client survives random inputs`() {
        var generator = generator("clientSurvivesAnything")
        for _ in 0..<300 {
            var machine = CentralMachine()
            var now = MonotonicInstant.start
            var isConnected = false
            var outstanding = false
            var (requested, ended) = (0, 0)
            func take(_ effects: [CentralMachine.Effect]) {
                for effect in effects {
                    switch effect {
                    case .send(let pdu):
                        #expect(throws: Never.self) { try ATTPDU(decoding: pdu) }
                        if ATTOpcode(pdu[0]).response != nil {
                            #expect(!outstanding)
                            outstanding = true
                        }
                    case .event(.connected): isConnected = true
                    case .event(.disconnected), .event(.connectFailed):
                        (isConnected, requested, ended, outstanding) = (false, 0, 0, false)
                    case .event(.discovered), .event(.discoveryFailed), .event(.read), .event(.readFailed),
                        .event(.wrote), .event(.writeFailed),
                        .event(.subscribed), .event(.subscribeFailed):
                        ended += 1
                    case .event, .log, .scan, .open, .close: break
                    }
                }
            }
            for _ in 0..<200 {
                now = now.advanced(by: .milliseconds(Int.random(in: 0...500, using: &generator)))
                if machine.nextDeadline == nil, !isConnected {
                    take(machine.handle(.request(.connect(PeerID("p"), limit: .seconds(5))), at: now))
                    take(machine.handle(.opened, at: now))
                    outstanding = false
                    take(machine.handle(.received(bytes("03 40 00")), at: now))
                }
                switch Int.random(in: 0...4, using: &generator) {
                case 0 where isConnected:
                    let handle = UInt16.random(in: 0...30, using: &generator)
                    let value = [UInt8](repeating: 1, count: Int.random(in: 0...600, using: &generator))
                    let request: CentralRequest =
                        [
                            .discover, .read(handle: handle), .subscribe(handle: handle),
                            .write(handle: handle, value: value, withResponse: Bool.random(using: &generator)),
                        ].randomElement(using: &generator) ?? .discover
                    requested += 1
                    take(machine.handle(.request(request), at: now))
                case 1: take(machine.handle(.tick, at: now))
                default:
                    let pdu = anyPDU(&generator)
                    if ATTOpcode(pdu.first ?? 0).isResponse { outstanding = false }
                    take(machine.handle(.received(pdu), at: now))
                }
                #expect(ended <= requested)
            }
        }
    }

    /// Server and client run in one thread and simulated time, with faults between them. Both become idle. A session
    /// after the faults succeeds.
    @Test func `client and server become idle after link faults`() throws {
        var generator = generator("faultyConversationsComeToRest")
        for _ in 0..<300 {
            let words = [
                "lose=0.2", "repeat=0.2", "delay=0.2:300ms", "late=0.2:7s", "silent=0.1", "disconnect=0.05", "mtu=23",
                "swap=0.2",
            ]
            let plan = try FaultPlan(words.filter { _ in Bool.random(using: &generator) }.joined(separator: ","))
            var pair = SimulatedPair(try GATTServer(smallBottle), FaultyChannel(plan, seed: generator.next()))
            pair.ask(.connect(PeerID("p"), limit: .seconds(5)))
            for request in [
                CentralRequest.discover, .subscribe(handle: 12), .read(handle: 12),
                .write(handle: 19, value: Array(repeating: 1, count: 60), withResponse: true),
            ] {
                pair.ask(request)
                pair.settle()
            }
            pair.ask(.disconnect)
            pair.settle()
            pair.channel = FaultyChannel(FaultPlan(), seed: 0)
            pair.events = []
            for request in [CentralRequest.connect(PeerID("p"), limit: .seconds(5)), .discover, .read(handle: 12)] {
                pair.ask(request)
                pair.settle()
            }
            #expect(pair.events.last == .read(handle: 12, value: [1, 2, 3]), "\(plan): \(pair.events)")
        }
    }
}

/// A central and a peripheral with a faulty channel between them, and a clock that jumps to the next deadline.
struct SimulatedPair {
    var server: GATTServer
    var channel: FaultyChannel
    var central = CentralMachine()
    var now = MonotonicInstant.start
    var events: [CentralEvent] = []
    private let id = CentralID("c")

    init(_ server: GATTServer, _ channel: FaultyChannel) {
        self.server = server
        self.channel = channel
    }

    mutating func ask(_ request: CentralRequest) { feed(.request(request)) }

    /// Advances the time until no deadline is left; an hour exceeds every limit.
    mutating func settle() {
        let end = now.advanced(by: .seconds(3600))
        while let next = [server.nextDeadline, channel.nextDeadline, central.nextDeadline].compactMap({ $0 }).min() {
            guard next <= end else { Issue.record("no rest within an hour"); return }
            now = max(now, next)
            take(channel.tick(at: now))
            feed(.tick as CentralMachine.Input)
            feed(.tick as GATTServer.Input)
        }
    }

    private mutating func feed(_ input: CentralMachine.Input) {
        for effect in central.handle(input, at: now) {
            switch effect {
            case .open:
                feed(.opened(id))
                feed(.opened as CentralMachine.Input)
            case .send(let pdu): take(channel.transmit(pdu, .toPeripheral, at: now))
            case .close:
                channel.closed(connection: 1)
                feed(.closed(id))
            case .event(let event): events.append(event)
            case .scan, .log: break
            }
        }
    }

    private mutating func feed(_ input: GATTServer.Input) {
        for effect in server.handle(input, at: now) {
            switch effect {
            case .send(_, let pdu): take(channel.transmit(pdu, .toCentral, at: now))
            case .event(.read(_, _, _, let token)): feed(.request(.respond(token: token, .value([1, 2, 3]))))
            case .event(.write(_, _, _, let token?)): feed(.request(.respond(token: token, .value([]))))
            case .event(.subscribed(_, let uuid)): feed(.request(.notify(uuid, value: [7])))
            case .close: lost()
            case .event, .advertise, .log: break
            }
        }
    }

    private mutating func lost() {
        channel.closed(connection: 1)
        feed(.closed(LinkError(.disconnected, "lost")))
    }

    private mutating func take(_ effects: [FaultyChannel.Effect]) {
        for effect in effects {
            switch effect {
            case .deliver(_, .toCentral, let pdu): feed(.received(pdu))
            case .deliver(_, .toPeripheral, let pdu): feed(.received(id, pdu))
            case .disconnect:
                lost()
                feed(.closed(id))
            case .log: break
            }
        }
    }
}
