import Bluetooth
import BottleProtocol
import Emulator

/// A recording that answers as a peripheral: by request, not by the clock alone. The same face as the bottle it stands
/// for.
///
/// A request that the capture knows gets the answer recorded for it, with the recorded delays; the same request again
/// gets the next answer recorded for it. The log is answered so that nothing of the recording is left out and nothing
/// is invented: recorded dumps in their order; after the last, whatever was not acknowledged. What the capture never
/// saw is answered by the model, or ends the connection.
package struct AnsweringMachine: Sendable {
    /// What becomes of a request that the capture does not have.
    package enum Mode: String, Sendable, CaseIterable {
        /// What the capture never saw is answered by the model.
        case once
        /// What the capture never saw ends the connection, with a message that shows both sides.
        case strict
    }

    /// How long answers take.
    package enum Pace: Sendable, Equatable {
        /// As recorded, so many times as fast.
        case recorded(speed: Double)
        /// At once.
        case flush
    }

    /// What the machine is told.
    package enum Event: Sendable {
        case link(PeripheralEvent)
        case tick
    }

    /// What is to be done, in order.
    package enum Effect: Sendable, Equatable {
        case link(PeripheralRequest)
        /// One line for a person who watches.
        case log(String)
        /// Strict: the host and the capture part here. One line with both sides; the connection is ended.
        case mismatch(String)
    }

    /// What it answers from.
    package let script: AnsweringScript
    /// Who it says it is.
    package let identity: BottleIdentity
    /// What to publish on the link before the first event.
    package var application: GATTApplication { model.application }

    let mode: Mode
    let pace: Pace
    var model: VirtualBottleMachine
    var effects: [Effect] = []
    var central: CentralID?
    var isSubscribed = false
    /// Exchanges that were played.
    var used: Set<Int> = []
    /// Records that were not acknowledged yet.
    var remaining: [[UInt8]]
    /// What the last dump held, oldest first: an acknowledgement names the first of them.
    var lastDump: [[UInt8]] = []
    var outbox: [(due: MonotonicInstant, bytes: [UInt8])] = []
    var readable: [[UInt8]] = []
    var isReadDump = false
    /// Whose notifications are on their way, oldest first.
    var senders: [Sender] = []
    var inFlightUntil: MonotonicInstant?

    enum Sender: Sendable { case script, model }

    /// - Parameters:
    ///   - hostTime: the host's local wall clock at `now`, for the model.
    package init(
        _ script: AnsweringScript, mode: Mode = .once, pace: Pace = .recorded(speed: 1), hostTime: LocalTime,
        at now: MonotonicInstant
    ) {
        self.script = script
        self.mode = mode
        self.pace = pace
        remaining = script.records
        identity = BottleIdentity(
            profile: OfferedProfiles(script.profile), model: script.model ?? .boost, name: script.name,
            address: script.address)
        model = VirtualBottleMachine(identity, hostTime: hostTime, at: now)
    }

    /// The earliest time at which `tick` has something to do.
    package var nextDeadline: MonotonicInstant? {
        [inFlightUntil ?? outbox.first?.due, model.nextDeadline].compactMap { $0 }.min()
    }

    /// Takes one event. Time does not go back.
    ///
    /// - Returns: what is to be done now, in order.
    package mutating func handle(_ event: Event, at now: MonotonicInstant) -> [Effect] {
        effects = []
        switch event {
        case .tick: apply(model.handle(.tick, at: now))
        case .link(let event): handle(event, at: now)
        }
        pump(at: now)
        return effects
    }

    private mutating func handle(_ event: PeripheralEvent, at now: MonotonicInstant) {
        let response = BluetoothUUID(script.profile.responseCharacteristic)
        switch event {
        case .connected(let id):
            if central == nil { central = id }
        case .disconnected(let id):
            if central == id { forgetCentral() }
        case .subscribed(let id, response) where id == central: isSubscribed = true
        case .unsubscribed(let id, response) where id == central: isSubscribed = false
        case .notified:
            guard !senders.isEmpty, senders.removeFirst() == .model else {
                inFlightUntil = nil
                return
            }
        case .write(let id, let uuid, let value, let token)
        where id == central && uuid == BluetoothUUID(script.profile.commandCharacteristic):
            return command(value, token, event, at: now)
        case .read(let id, response, offset: 0, let token)
        where id == central && !isSubscribed && (isReadDump || !readable.isEmpty):
            let value = readable.isEmpty ? Frame(.put, payload: []).encoded : readable.removeFirst()
            return effects.append(.link(.respond(token: token, .value(value))))
        default: break
        }
        apply(model.handle(.link(event), at: now))
    }

    private mutating func forgetCentral() {
        central = nil
        isSubscribed = false
        (outbox, readable, senders) = ([], [], [])
        isReadDump = false
        inFlightUntil = nil
        lastDump = []
    }

    mutating func apply(_ made: [VirtualBottleMachine.Effect]) {
        for effect in made {
            switch effect {
            case .link(let request):
                if case .notify = request { senders.append(.model) }
                effects.append(.link(request))
            case .log(let line): effects.append(.log(line))
            case .save, .reply: break
            }
        }
    }

    // MARK: requests

    private mutating func command(
        _ bytes: [UInt8], _ token: UInt64?, _ event: PeripheralEvent, at now: MonotonicInstant
    ) {
        let command = HostCommand(decoding: bytes)
        isReadDump = false
        readable = []
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
            if let place = nextExchange(bytes) { play(place, at: now) }
            return effects.append(.log("\(command.meaning): \(remaining.count) left"))
        default:
            guard let place = nextExchange(bytes) else { break }
            accept(token)
            effects.append(.log("\(command.meaning): as recorded in frame \(script.exchanges[place].frame)"))
            return play(place, at: now)
        }
        guard mode == .strict else {
            effects.append(.log("\(command.meaning): not in the capture, the model answers"))
            return apply(model.handle(.link(event), at: now))
        }
        accept(token)
        effects.append(.mismatch(mismatch(bytes, command)))
        if let central { effects.append(.link(.disconnect(central))) }
    }

    private mutating func accept(_ token: UInt64?) {
        if let token { effects.append(.link(.respond(token: token, .value([])))) }
    }

    /// The next answer recorded for a request; after the last one, the last one again.
    private func nextExchange(_ request: [UInt8]) -> Int? {
        let places = script.exchanges.indices.filter { script.exchanges[$0].request == request }
        return places.first { !used.contains($0) } ?? places.last
    }

    /// What the host did, and what the capture's host did where it would have gone on.
    private func mismatch(_ bytes: [UInt8], _ command: HostCommand) -> String {
        let here = "the host wrote \(Self.text(bytes)) (\(command.meaning)), which the capture never saw"
        guard let next = script.exchanges.indices.first(where: { !used.contains($0) }).map({ script.exchanges[$0] })
        else {
            return here + "; the capture's host wrote nothing more here"
        }
        return here
            + "; the capture's host wrote \(Self.text(next.request)) (\(next.command.meaning)) in frame \(next.frame)"
    }

    private static func text(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: " ")
    }
}
