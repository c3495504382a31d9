package import Bluetooth
import BottleProtocol
package import Emulator

/// A state machine that emulates a recorded bottle: it sends the responses of a capture.
///
/// A request in the capture gets its recorded response with the recorded delays; a repeated request gets the next
/// recorded response. A log request gets the recorded dumps in order, and after the last one all records that were not
/// acknowledged. `Mode` determines the response to other requests.
package struct RecordedBottleMachine: PeripheralMachine {
    /// The treatment of requests that are not in the capture.
    package enum Mode: String, Sendable, CaseIterable {
        /// The emulated bottle of the recorded model responds to these requests.
        case once
        /// These requests end the connection, with a message that shows the sent and the recorded request.
        case strict
    }

    package let script: ResponseScript
    package let identity: BottleIdentity
    package var application: GATTApplication { model.application }

    let mode: Mode
    let speed: Double?
    var model: VirtualBottleMachine
    var effects: [PeripheralMachineEffect] = []
    var central: CentralID?
    var isSubscribed = false
    /// The indices of the exchanges whose response was sent.
    var usedExchanges: Set<Int> = []
    /// The log records that the host has not acknowledged.
    var unacknowledgedRecords: [[UInt8]]
    /// The records of the last dump, oldest first. An acknowledgement drops the first ones.
    var lastDump: [[UInt8]] = []
    var queuedValues: [(due: MonotonicInstant, bytes: [UInt8])] = []
    /// The values for reads of the response characteristic, if the host has not subscribed.
    var readQueue: [[UInt8]] = []
    var isReadDump = false
    var inFlightUntil: MonotonicInstant?

    /// - Parameters:
    ///   - speed: the recorded delays are divided by it; `nil` sends without delay.
    ///   - hostTime: the host's local wall clock at `now`, for the model.
    package init(
        _ script: ResponseScript, mode: Mode = .once, speed: Double? = 1, hostTime: LocalTime,
        at now: MonotonicInstant
    ) {
        self.script = script
        self.mode = mode
        self.speed = speed
        unacknowledgedRecords = script.records
        identity = BottleIdentity(
            profile: OfferedProfiles(script.profile), model: script.model ?? .boost, name: script.name,
            address: script.address)
        model = VirtualBottleMachine(identity, hostTime: hostTime, at: now)
    }

    package var nextDeadline: MonotonicInstant? {
        [inFlightUntil ?? queuedValues.first?.due, model.nextDeadline].compactMap { $0 }.min()
    }

    package mutating func handle(_ event: PeripheralMachineEvent, at now: MonotonicInstant)
        -> [PeripheralMachineEffect]
    {
        effects = []
        switch event {
        case .tick, .control: apply(model.handle(event, at: now))
        case .link(let event): handle(event, at: now)
        }
        sendNextValue(at: now)
        return effects
    }

    private mutating func handle(_ event: PeripheralEvent, at now: MonotonicInstant) {
        let response = BluetoothUUID(script.profile.responseCharacteristic)
        switch event {
        case .connected(let id):
            if central == nil { central = id }
        case .disconnected(let id):
            if central == id { resetConnection() }
        case .subscribed(let id, response) where id == central: isSubscribed = true
        case .unsubscribed(let id, response) where id == central: isSubscribed = false
        case .notified: inFlightUntil = nil
        case .write(let id, let uuid, let value, let token)
        where id == central && uuid == BluetoothUUID(script.profile.commandCharacteristic):
            return command(value, token, event, at: now)
        case .read(let id, response, offset: 0, let token)
        where id == central && !isSubscribed && (isReadDump || !readQueue.isEmpty):
            let value = readQueue.isEmpty ? Frame(.put, payload: []).encoded : readQueue.removeFirst()
            return effects.append(.link(.respond(token: token, .value(value))))
        default: break
        }
        apply(model.handle(.link(event), at: now))
    }

    private mutating func resetConnection() {
        central = nil
        isSubscribed = false
        (queuedValues, readQueue) = ([], [])
        isReadDump = false
        inFlightUntil = nil
        lastDump = []
    }

    mutating func apply(_ modelEffects: [PeripheralMachineEffect]) {
        for effect in modelEffects {
            switch effect {
            case .link(let request): effects.append(.link(request))
            case .log(let line): log(line)
            case .save, .reply, .unrecorded: break
            }
        }
    }

    private mutating func command(
        _ bytes: [UInt8], _ token: UInt64?, _ event: PeripheralEvent, at now: MonotonicInstant
    ) {
        let command = HostCommand(decoding: bytes)
        isReadDump = false
        readQueue = []
        let isKnown = script.exchanges.contains { $0.request == bytes }
        switch command {
        case .drinkLog, .draftDump:
            guard isKnown || (mode == .once && !script.records.isEmpty) else { break }
            accept(token)
            return answerLog(bytes, command, at: now)
        case .acknowledge(let count):
            guard isKnown || mode == .once else { break }
            accept(token)
            acknowledge(Int(count) / DrinkRecord.size)
            if let next = nextExchange(bytes) { queueResponse(next, at: now) }
            return log("\(command.meaning): \(counted(unacknowledgedRecords.count, "unacknowledged record"))")
        default:
            guard let next = nextExchange(bytes) else { break }
            accept(token)
            log("\(command.meaning): as recorded in frame \(script.exchanges[next].frame)")
            return queueResponse(next, at: now)
        }
        guard mode == .strict else {
            log("\(command.meaning): not in the capture, the emulated model responds")
            return apply(model.handle(.link(event), at: now))
        }
        accept(token)
        effects.append(.unrecorded(mismatch(bytes, command)))
        if let central { effects.append(.link(.disconnect(central))) }
    }

    mutating func log(_ line: String) { effects.append(.log(line)) }

    private mutating func accept(_ token: UInt64?) {
        if let token { effects.append(.link(.respond(token: token, .value([])))) }
    }

    /// The index of the next recorded exchange for a request. The last one repeats.
    private func nextExchange(_ request: [UInt8]) -> Int? {
        let matching = script.exchanges.indices.filter { script.exchanges[$0].request == request }
        return matching.first { !usedExchanges.contains($0) } ?? matching.last
    }

    /// A message with the host's request and the next one of the capture.
    private func mismatch(_ bytes: [UInt8], _ command: HostCommand) -> String {
        let text = "the host wrote \(hexText(bytes)) (\(command.meaning)), which is not in the capture"
        guard let next = script.exchanges.enumerated().first(where: { !usedExchanges.contains($0.offset) })?.element
        else {
            return text + "; the recorded host wrote nothing after that"
        }
        return text
            + "; the recorded host wrote \(hexText(next.request)) (\(next.command.meaning)) in frame \(next.frame)"
    }
}
