import Bluetooth
import Replay
import Emulator

/// A device profile, the GATT server of a link and a recording, in simulated time.
final class World {
    private var server: GATTServer
    private(set) var machine: ProfileMachine
    private(set) var now = MonotonicInstant(nanoseconds: 1_000_000_000)
    private(set) var reported: [String] = []
    private(set) var logged: [String] = []
    private var inbox: [[UInt8]] = []
    private var events: [(ConversationEvent, [UInt8])] = []
    private var connection: ObservedConnection
    private var frame = 0
    private var central = CentralID("0")
    private var isConnected = false

    init(_ profile: PeripheralProfile, _ mode: ProfileMachine.Mode = .once) throws {
        machine = ProfileMachine(profile, mode: mode)
        server = try GATTServer(machine.application)
        connection = ObservedConnection(id: 0, handle: 0, peer: profile.address)
        if let shown = machine.application.advertisement {
            for (data, isScanResponse) in [(shown.data, false), (shown.scanResponse, true)]
            where !(isScanResponse && data.isEmpty) {
                events.append(
                    (
                        .advertised(
                            ObservedAdvertiser(
                                frame: 0, time: nil, address: profile.address ?? BluetoothAddress(1),
                                isRandom: profile.addressType == .random, isScanResponse: isScanResponse)), data
                    ))
            }
        }
    }

    /// Replaces the host by a new one.
    func connect() -> Host {
        disconnect()
        central = CentralID("\(connection.id + 1)")
        connection = ObservedConnection(
            id: connection.id + 1, handle: 0x40, peer: machine.profile.address,
            isPeerRandom: machine.profile.addressType.map { $0 == .random }, isCentral: true)
        events.append((.connected(connection), []))
        isConnected = true
        feed(.opened(central))
        return Host(send: { self.hear($0) }, receive: { try self.next() })
    }

    func disconnect() {
        guard isConnected else { return }
        isConnected = false
        inbox = []
        feed(.closed(central))
        events.append((.disconnected(connection, reason: nil), []))
    }

    func wait(_ milliseconds: Int) throws {
        let end = now.advanced(by: .milliseconds(milliseconds))
        while let next = deadline, next <= end { tick(at: next) }
        now = end
    }

    /// The clone of everything recorded so far.
    func recorded() throws -> PeripheralProfile {
        disconnect()
        let reader = ProfileReader()
        for (event, bytes) in events { try reader.receive(event, bytes.span.bytes) }
        guard let found = reader.finish().first else { throw Host.Failure(description: "no peripheral was recorded") }
        try found.profile.check()
        return found.profile
    }

    private var deadline: MonotonicInstant? { [server.nextDeadline, machine.nextDeadline].compactMap { $0 }.min() }

    private func note(_ pdu: [UInt8], _ direction: TrafficDirection) {
        frame += 1
        events.append(
            (
                .att(
                    ATTObservation(
                        frame: frame, time: .nanoseconds(now.nanoseconds), connection: connection, direction: direction)
                ), pdu
            ))
    }

    private func hear(_ pdu: [UInt8]) {
        note(pdu, .sent)
        feed(.received(central, pdu))
    }

    private func next() throws -> [UInt8] {
        while inbox.isEmpty {
            guard let deadline, deadline < now.advanced(by: .seconds(100_000)) else {
                throw Host.Failure(description: "no further PDU arrives")
            }
            tick(at: deadline)
        }
        return inbox.removeFirst()
    }

    private func tick(at time: MonotonicInstant) {
        now = max(now, time)
        feed(.tick)
        act(machine.handle(.tick, at: now))
    }

    private func feed(_ input: GATTServer.Input) {
        for effect in server.handle(input, at: now) {
            switch effect {
            case .send(let id, let pdu) where id == central:
                note(pdu, .received)
                inbox.append(pdu)
            case .event(let event): act(machine.handle(.link(event), at: now))
            case .log(let line): logged.append(line)
            case .send, .close, .advertise: break
            }
        }
    }

    private func act(_ effects: [PeripheralMachineEffect]) {
        for effect in effects {
            switch effect {
            case .link(let request): feed(.request(request))
            case .log(let line): logged.append(line)
            case .unrecorded(let line): reported.append(line)
            case .save, .reply: break
            }
        }
    }
}
