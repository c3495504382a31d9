import Bluetooth
import Dispatch
import Replay
import Emulator

/// The `capture:` link: a central whose peripherals are the bottles of a capture. Each advertises its name and address,
/// and responds at once. The link counts as radio, because a capture can have several bottles. `queue` protects state.
package final class CaptureLink: CentralLink, @unchecked Sendable {
    package let name: String
    package var hasRadio: Bool { true }
    package let events: AsyncStream<CentralEvent>

    private let continuation: AsyncStream<CentralEvent>.Continuation
    private let queue = DispatchQueue(label: "capture link")
    private let clock: MonotonicClock
    private let log: @Sendable (String) -> Void
    private var bottles: [RecordedPeripheral]
    private var connected: Int?
    private var token: UInt64 = 0
    private var reading: [UInt64: UInt16] = [:]
    private var writing: [UInt64: UInt16] = [:]
    private let timer: any DispatchSourceTimer

    /// - Parameters:
    ///   - given: the handles of the characteristics, if the capture lacks the discovery.
    ///   - hostTime: the host's local time, for requests that the capture does not answer.
    /// - Throws: `LinkError` if the file cannot be read or has no bottle.
    package init(
        file: String, given: GivenHandles = GivenHandles(), hostTime: LocalTime,
        instruments: LinkInstruments = LinkInstruments()
    ) throws(LinkError) {
        name = "capture:\(file)"
        clock = instruments.clock
        log = instruments.log
        let scripts: [AnsweringScript]
        do {
            let read = try AnsweringScript.read(file, given: given)
            scripts = read.scripts
            if let trouble = read.trouble {
                instruments.log("\(file): \(trouble); the link uses the part before it")
            }
        } catch {
            throw LinkError(.notFound, "\(error)")
        }
        let now = instruments.clock.now()
        bottles = scripts.enumerated().map { RecordedPeripheral($1, number: $0 + 1, hostTime: hostTime, at: now) }
        (events, continuation) = AsyncStream.makeStream()
        timer = DispatchSource.makeTimerSource(queue: queue)
        timer.setEventHandler { [weak self] in self?.tick() }
        timer.activate()
    }

    deinit { timer.cancel() }

    package func perform(_ request: CentralRequest) {
        queue.async { self.handle(request) }
    }

    package func close() async {
        await withCheckedContinuation { done in
            queue.async {
                self.connected = nil
                self.timer.cancel()
                self.continuation.finish()
                done.resume()
            }
        }
    }

    // MARK: Requests

    private func handle(_ request: CentralRequest) {
        switch request {
        case .startScan: for bottle in bottles { continuation.yield(.advertised(bottle.advertisement)) }
        case .stopScan: break
        case .connect(let peer, _): connect(peer)
        case .discover:
            guard let bottle = current else { return refuse { .discoveryFailed($0) } }
            continuation.yield(.discovered(bottle.services))
        case .read(let handle): read(handle)
        case .write(let handle, let value, let withResponse): write(handle, value, withResponse)
        case .subscribe(let handle):
            guard let bottle = current, let uuid = bottle.uuid(handle) else {
                return refuse { .subscribeFailed(handle: handle, $0) }
            }
            continuation.yield(.subscribed(handle: handle))
            feed(.subscribed(Self.central, uuid))
        case .disconnect:
            hangUp()
            continuation.yield(.disconnected(nil))
        case .forget: continuation.yield(.recovered("a capture stores nothing about a peer"))
        case .powerCycle: continuation.yield(.recovered("a capture has no adapter"))
        }
    }

    private static let central = CentralID("capture")

    private var current: RecordedPeripheral? { connected.map { bottles[$0] } }

    private func connect(_ peer: PeerID) {
        guard let place = bottles.firstIndex(where: { $0.advertisement.peer == peer }) else {
            continuation.yield(.connectFailed(LinkError(.notFound, "\(peer) is not in \(name)")))
            return
        }
        hangUp()
        connected = place
        continuation.yield(.connected(peer, mtu: RecordedPeripheral.mtu))
        feed(.connected(Self.central))
    }

    private func hangUp() {
        guard connected != nil else { return }
        feed(.disconnected(Self.central))
        connected = nil
        (reading, writing) = ([:], [:])
    }

    private func refuse(_ event: (LinkError) -> CentralEvent) {
        continuation.yield(event(LinkError(.outOfStep, "\(name) is not connected, or has no such handle")))
    }

    private func read(_ handle: UInt16) {
        guard let bottle = current, let uuid = bottle.uuid(handle) else {
            return refuse { .readFailed(handle: handle, $0) }
        }
        if let constant = bottle.constants[handle] {
            continuation.yield(.read(handle: handle, value: constant))
            return
        }
        token += 1
        reading[token] = handle
        feed(.read(Self.central, uuid, offset: 0, token: token))
    }

    private func write(_ handle: UInt16, _ value: [UInt8], _ withResponse: Bool) {
        guard let bottle = current, let uuid = bottle.uuid(handle) else {
            return refuse { .writeFailed(handle: handle, $0) }
        }
        guard withResponse else {
            continuation.yield(.wrote(handle: handle))
            return feed(.write(Self.central, uuid, value: value, token: nil))
        }
        token += 1
        writing[token] = handle
        feed(.write(Self.central, uuid, value: value, token: token))
    }

    // MARK: Bottle

    private func feed(_ event: PeripheralEvent) {
        guard let connected else { return }
        perform(bottles[connected].machine.handle(.link(event), at: clock.now()))
    }

    private func tick() {
        guard let connected else { return }
        perform(bottles[connected].machine.handle(.tick, at: clock.now()))
    }

    private func perform(_ effects: [AnsweringMachine.Effect]) {
        for effect in effects {
            switch effect {
            case .link(let request): perform(request)
            case .log(let line), .mismatch(let line): log(line)
            }
        }
        setTimer()
    }

    private func perform(_ request: PeripheralRequest) {
        switch request {
        case .respond(let token, let response): respond(token, response)
        case .notify(let uuid, let value):
            if let handle = current?.handle(uuid) { continuation.yield(.notification(handle: handle, value: value)) }
            queue.async { self.feed(.notified(uuid)) }
        case .disconnect:
            guard connected != nil else { return }
            hangUp()
            continuation.yield(
                .disconnected(LinkError(.disconnected, "the recorded bottle disconnected", isTransient: true)))
        case .advertise: break
        }
    }

    private func respond(_ token: UInt64, _ response: PeripheralRequest.Response) {
        func refusal(_ code: UInt8) -> LinkError {
            LinkError(.refused, "the recorded bottle rejected the request: ATT error \(code)", attError: code)
        }
        if let handle = reading.removeValue(forKey: token) {
            switch response {
            case .value(let value): continuation.yield(.read(handle: handle, value: value))
            case .error(let code): continuation.yield(.readFailed(handle: handle, refusal(code)))
            }
        } else if let handle = writing.removeValue(forKey: token) {
            switch response {
            case .value: continuation.yield(.wrote(handle: handle))
            case .error(let code): continuation.yield(.writeFailed(handle: handle, refusal(code)))
            }
        }
    }

    private func setTimer() {
        guard let deadline = current?.machine.nextDeadline else { return timer.schedule(deadline: .distantFuture) }
        let wait = max(0, clock.now().duration(to: deadline) / .nanoseconds(1))
        timer.schedule(deadline: .now() + .nanoseconds(Int(min(wait, 1e15))))
    }
}

/// A bottle of the capture with its GATT table.
private struct RecordedPeripheral {
    static let mtu = 517

    var machine: AnsweringMachine
    let advertisement: Advertisement
    let services: [RemoteService]
    /// The values that the link serves itself, by handle.
    let constants: [UInt16: [UInt8]]
    private var uuids: [UInt16: BluetoothUUID] = [:]

    init(_ script: AnsweringScript, number: Int, hostTime: LocalTime, at now: MonotonicInstant) {
        machine = AnsweringMachine(script, mode: .once, pace: .flush, hostTime: hostTime, at: now)
        let application = machine.application
        advertisement = Advertisement(
            peer: PeerID(script.address?.description ?? "bottle \(number)"), address: script.address,
            name: application.name,
            services: application.advertisedServices)
        let name = LocalCharacteristic(uuid: 0x2A00, properties: .read, constant: Array(application.name.utf8))
        var handle: UInt16 = 0
        var services: [RemoteService] = []
        var constants: [UInt16: [UInt8]] = [:]
        for service in [LocalService(uuid: 0x1800, characteristics: [name])] + application.services {
            handle += 1
            var found = RemoteService(uuid: service.uuid, handle: handle, characteristics: [])
            for characteristic in service.characteristics {
                // Declaration, value and configuration.
                handle += 2
                found.characteristics.append(
                    RemoteCharacteristic(
                        uuid: characteristic.uuid, handle: handle, properties: characteristic.properties))
                constants[handle] = characteristic.constant
                uuids[handle] = characteristic.uuid
                handle += 1
            }
            services.append(found)
        }
        self.services = services
        self.constants = constants
    }

    func uuid(_ handle: UInt16) -> BluetoothUUID? { uuids[handle] }
    func handle(_ uuid: BluetoothUUID) -> UInt16? { uuids.first { $0.value == uuid }?.key }
}
