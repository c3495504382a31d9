/// A plan's faults at GATT level, for links whose stack keeps the PDUs to itself (bluetoothd). Pure, and by the same
/// channel as on a link with PDUs: each read, write, answer and value that passes the seam counts as the PDU that it
/// stands for.
///
/// What the stack does by itself (MTU, discovery, subscriptions, answers to writes that may also come without response)
/// does not pass here: it is neither counted nor struck. A plan's `mtu` has no effect; see `FaultPlan.wordsForPDUs`.
struct FaultySeam: Sendable {
    enum Effect: Hashable, Sendable {
        /// For the link below.
        case perform(PeripheralRequest)
        /// For the consumer above.
        case yield(PeripheralEvent)
        case log(String)
    }

    private struct Central {
        var connection: Int
        var subscriptions: Set<BluetoothUUID> = []
        /// Reads and writes that the link below still waits for.
        var owed: Set<UInt64> = []
    }

    private var channel: FaultyChannel
    private var centrals: [CentralID: Central] = [:]
    private var lastConnection = 0
    private var lastMessage: UInt64 = 0
    /// What passes the channel, by number: the channel is shown an opcode and the number.
    private var requests: [UInt64: PeripheralRequest] = [:]
    /// For each value handed down, in order: whether the consumer is still to hear that it has left.
    private var handedDown: [BluetoothUUID: [Bool]] = [:]

    init(_ plan: FaultPlan, seed: UInt64) {
        channel = FaultyChannel(plan, seed: seed)
    }

    var nextDeadline: MonotonicInstant? { channel.nextDeadline }

    /// The link below has something to tell.
    mutating func handle(_ event: PeripheralEvent, at now: MonotonicInstant) -> [Effect] {
        switch event {
        case .connected(let id):
            lastConnection += 1
            centrals[id] = Central(connection: lastConnection)
            return [.yield(event)]
        case .disconnected(let id):
            return ended(id) + [.yield(event)]
        case .read(let id, _, _, let token):
            centrals[id]?.owed.insert(token)
            return arrive(event, .readRequest, from: id, at: now)
        case .write(let id, _, _, let token):
            if let token { centrals[id]?.owed.insert(token) }
            return arrive(event, token == nil ? .writeCommand : .writeRequest, from: id, at: now)
        case .subscribed(let id, let uuid):
            centrals[id]?.subscriptions.insert(uuid)
            return [.yield(event)]
        case .unsubscribed(let id, let uuid):
            centrals[id]?.subscriptions.remove(uuid)
            return [.yield(event)]
        case .notified(let uuid):
            guard handedDown[uuid]?.isEmpty == false else { return [.yield(event)] }
            return handedDown[uuid]?.removeFirst() == true ? [.yield(event)] : []
        case .mtuChanged, .unavailable, .available:
            return [.yield(event)]
        }
    }

    /// The consumer above wants something.
    mutating func handle(_ request: PeripheralRequest, at now: MonotonicInstant) -> [Effect] {
        switch request {
        case .respond(let token, let response):
            // Answered with the connection's end already.
            guard let (id, central) = centrals.first(where: { $0.value.owed.contains(token) }) else { return [] }
            let opcode: ATTOpcode = if case .error = response { .errorResponse } else { .readResponse }
            return leave(request, opcode, to: id, central.connection, at: now).effects
        case .notify(let uuid, _):
            // One central at a time is the rule; with more, the first one's connection is the one that counts.
            let listening = centrals.filter { $0.value.subscriptions.contains(uuid) }.min {
                $0.value.connection < $1.value.connection
            }
            guard let (id, central) = listening else {
                handedDown[uuid, default: []].append(true)
                return [.perform(request)]
            }
            let (effects, hasLeft) = leave(request, .notification, to: id, central.connection, at: now)
            // Lost or late, it has left as far as the consumer can know.
            return hasLeft ? effects : effects + [.yield(.notified(uuid))]
        case .disconnect, .advertise:
            return [.perform(request)]
        }
    }

    /// What has waited long enough.
    mutating func tick(at now: MonotonicInstant) -> [Effect] {
        var delivered: Set<UInt64> = []
        let effects = channel.tick(at: now).flatMap { effect -> [Effect] in
            guard case .deliver(_, _, let bytes) = effect, let number = Self.number(bytes) else { return [] }
            delivered.insert(number)
            return deliver(number, tellsConsumer: false)
        }
        forget(delivered)
        return effects
    }

    /// Copies of a message are delivered together; what the channel does not hold it will not ask for again.
    private mutating func forget(_ delivered: Set<UInt64>) {
        for number in delivered { requests[number] = nil }
        if channel.nextDeadline == nil { requests = [:] }
    }

    private mutating func ended(_ id: CentralID) -> [Effect] {
        guard let central = centrals.removeValue(forKey: id) else { return [] }
        channel.closed(connection: central.connection)
        forget([])
        // The link below must not wait for ever for what was swallowed here.
        let unlikelyError: UInt8 = 0x0E
        return central.owed.sorted().map { .perform(.respond(token: $0, .error(unlikelyError))) }
    }

    /// From the central: now or never.
    private mutating func arrive(
        _ event: PeripheralEvent, _ opcode: ATTOpcode, from id: CentralID, at now: MonotonicInstant
    ) -> [Effect] {
        guard let connection = centrals[id]?.connection else { return [.yield(event)] }
        return channel.pass([opcode.rawValue], .toPeripheral, connection: connection, at: now).map { effect in
            switch effect {
            case .deliver: .yield(event)
            case .disconnect: .perform(.disconnect(id))
            case .log(let line): .log(line)
            }
        }
    }

    /// To the central: now, later, twice or never. `hasLeft`: the consumer will hear of it from below.
    private mutating func leave(
        _ request: PeripheralRequest, _ opcode: ATTOpcode, to id: CentralID, _ connection: Int, at now: MonotonicInstant
    ) -> (effects: [Effect], hasLeft: Bool) {
        lastMessage += 1
        let mine = lastMessage
        requests[mine] = request
        var hasLeft = false
        var effects: [Effect] = []
        var delivered: Set<UInt64> = []
        let bytes = [opcode.rawValue] + (0..<8).map { UInt8(truncatingIfNeeded: mine >> ($0 * 8)) }
        for effect in channel.pass(bytes, .toCentral, connection: connection, at: now) {
            switch effect {
            case .deliver(_, _, let bytes):
                guard let number = Self.number(bytes) else { continue }
                effects += deliver(number, tellsConsumer: number == mine && !hasLeft)
                delivered.insert(number)
                hasLeft = hasLeft || number == mine
            case .disconnect: effects.append(.perform(.disconnect(id)))
            case .log(let line): effects.append(.log(line))
            }
        }
        forget(delivered)
        return (effects, hasLeft)
    }

    private static func number(_ bytes: [UInt8]) -> UInt64? {
        guard bytes.count == 9 else { return nil }
        return bytes[1...].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    private mutating func deliver(_ number: UInt64, tellsConsumer: Bool) -> [Effect] {
        guard let request = requests[number] else { return [] }
        switch request {
        case .respond(let token, _):
            for id in centrals.keys { centrals[id]?.owed.remove(token) }
        case .notify(let uuid, _):
            handedDown[uuid, default: []].append(tellsConsumer)
        case .disconnect, .advertise:
            break
        }
        return [.perform(request)]
    }
}
