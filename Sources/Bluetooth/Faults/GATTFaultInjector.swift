/// Injects a plan's faults at GATT level, for links whose stack (bluetoothd) handles the PDUs. Each read, write,
/// response and notification counts as its PDU.
///
/// The stack's own traffic (MTU exchange, discovery, subscriptions, responses to writes) does not pass here: it is
/// neither counted nor changed. `FaultPlan.mtu` has no effect.
struct GATTFaultInjector: Sendable {
    enum Effect: Hashable, Sendable {
        case perform(PeripheralRequest)
        case yield(PeripheralEvent)
        case log(String)
    }

    private struct Central {
        var connection: Int
        var subscriptions: Set<BluetoothUUID> = []
        /// The tokens of reads and writes that the base link expects a response to.
        var unanswered: Set<UInt64> = []
    }

    private var channel: FaultyChannel
    private var centrals: [CentralID: Central] = [:]
    private var lastConnection = 0
    private var lastMessage: UInt64 = 0
    /// The requests in the channel by number. The channel sees only an opcode and this number.
    private var requests: [UInt64: PeripheralRequest] = [:]
    /// For each notified value, in order, whether the consumer still expects `notified`.
    private var expectsNotified: [BluetoothUUID: [Bool]] = [:]

    init(_ plan: FaultPlan, seed: UInt64) {
        channel = FaultyChannel(plan, seed: seed)
    }

    var nextDeadline: MonotonicInstant? { channel.nextDeadline }

    mutating func handle(_ event: PeripheralEvent, at now: MonotonicInstant) -> [Effect] {
        switch event {
        case .connected(let id):
            lastConnection += 1
            centrals[id] = Central(connection: lastConnection)
            return [.yield(event)]
        case .disconnected(let id):
            return ended(id) + [.yield(event)]
        case .read(let id, _, _, let token):
            centrals[id]?.unanswered.insert(token)
            return receive(event, .readRequest, from: id, at: now)
        case .write(let id, _, _, let token):
            if let token { centrals[id]?.unanswered.insert(token) }
            return receive(event, token == nil ? .writeCommand : .writeRequest, from: id, at: now)
        case .subscribed(let id, let uuid):
            centrals[id]?.subscriptions.insert(uuid)
            return [.yield(event)]
        case .unsubscribed(let id, let uuid):
            centrals[id]?.subscriptions.remove(uuid)
            return [.yield(event)]
        case .notified(let uuid):
            guard expectsNotified[uuid]?.isEmpty == false else { return [.yield(event)] }
            return expectsNotified[uuid]?.removeFirst() == true ? [.yield(event)] : []
        case .mtuChanged, .unavailable, .available:
            return [.yield(event)]
        }
    }

    mutating func handle(_ request: PeripheralRequest, at now: MonotonicInstant) -> [Effect] {
        switch request {
        case .respond(let token, let response):
            guard let (id, central) = centrals.first(where: { $0.value.unanswered.contains(token) }) else { return [] }
            let opcode: ATTOpcode = if case .error = response { .errorResponse } else { .readResponse }
            return send(request, opcode, to: id, central.connection, at: now).effects
        case .notify(let uuid, _):
            // There is normally one central. If there are several, the connection of the first one counts.
            let firstSubscriber = centrals.filter { $0.value.subscriptions.contains(uuid) }.min {
                $0.value.connection < $1.value.connection
            }
            guard let (id, central) = firstSubscriber else {
                expectsNotified[uuid, default: []].append(true)
                return [.perform(request)]
            }
            let (effects, isSent) = send(request, .notification, to: id, central.connection, at: now)
            // A lost or delayed value counts as sent for the consumer.
            return isSent ? effects : effects + [.yield(.notified(uuid))]
        case .disconnect, .advertise:
            return [.perform(request)]
        }
    }

    mutating func tick(at now: MonotonicInstant) -> [Effect] {
        var delivered: Set<UInt64> = []
        let effects = channel.tick(at: now).flatMap { effect -> [Effect] in
            guard case .deliver(_, _, let bytes) = effect, let number = Self.number(bytes) else { return [] }
            delivered.insert(number)
            return deliver(number, reportsNotified: false)
        }
        dropRequests(delivered)
        return effects
    }

    /// Drops the stored requests of delivered messages that the channel no longer holds. Copies are delivered together.
    private mutating func dropRequests(_ delivered: Set<UInt64>) {
        for number in delivered { requests[number] = nil }
        if channel.nextDeadline == nil { requests = [:] }
    }

    private mutating func ended(_ id: CentralID) -> [Effect] {
        guard let central = centrals.removeValue(forKey: id) else { return [] }
        channel.closed(connection: central.connection)
        dropRequests([])
        // The base link requires a response to each request, even if the fault plan lost the response.
        let unlikelyError: UInt8 = 0x0E
        return central.unanswered.sorted().map { .perform(.respond(token: $0, .error(unlikelyError))) }
    }

    private mutating func receive(
        _ event: PeripheralEvent, _ opcode: ATTOpcode, from id: CentralID, at now: MonotonicInstant
    ) -> [Effect] {
        guard let connection = centrals[id]?.connection else { return [.yield(event)] }
        return channel.transmit([opcode.rawValue], .toPeripheral, connection: connection, at: now).map { effect in
            switch effect {
            case .deliver: .yield(event)
            case .disconnect: .perform(.disconnect(id))
            case .log(let line): .log(line)
            }
        }
    }

    /// Passes a response or value to the central: at once, later, twice or never. With `isSent`, the base link reports
    /// `notified`.
    private mutating func send(
        _ request: PeripheralRequest, _ opcode: ATTOpcode, to id: CentralID, _ connection: Int, at now: MonotonicInstant
    ) -> (effects: [Effect], isSent: Bool) {
        lastMessage += 1
        let sentNumber = lastMessage
        requests[sentNumber] = request
        var isSent = false
        var effects: [Effect] = []
        var delivered: Set<UInt64> = []
        let bytes = [opcode.rawValue] + sentNumber.littleEndianBytes(8)
        for effect in channel.transmit(bytes, .toCentral, connection: connection, at: now) {
            switch effect {
            case .deliver(_, _, let bytes):
                guard let number = Self.number(bytes) else { continue }
                effects += deliver(number, reportsNotified: number == sentNumber && !isSent)
                delivered.insert(number)
                isSent = isSent || number == sentNumber
            case .disconnect: effects.append(.perform(.disconnect(id)))
            case .log(let line): effects.append(.log(line))
            }
        }
        dropRequests(delivered)
        return (effects, isSent)
    }

    private static func number(_ bytes: [UInt8]) -> UInt64? {
        guard bytes.count == 9 else { return nil }
        return bytes[1...].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    private mutating func deliver(_ number: UInt64, reportsNotified: Bool) -> [Effect] {
        guard let request = requests[number] else { return [] }
        switch request {
        case .respond(let token, _):
            for id in centrals.keys { centrals[id]?.unanswered.remove(token) }
        case .notify(let uuid, _):
            expectsNotified[uuid, default: []].append(reportsNotified)
        case .disconnect, .advertise:
            break
        }
        return [.perform(request)]
    }
}
