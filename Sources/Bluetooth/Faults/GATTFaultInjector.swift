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

    private var channel: FaultyTransfer<Effect>
    private var centrals: [CentralID: Central] = [:]
    private var lastConnection = 0
    /// For each notified value, in order, whether the consumer still expects `notified`.
    private var expectsNotified: [BluetoothUUID: [Bool]] = [:]

    init(_ plan: FaultPlan, seed: UInt64) {
        channel = FaultyTransfer(plan, seed: seed)
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
        channel.tick(at: now).compactMap { effect in
            guard case .deliver(_, _, let delivered) = effect else { return nil }
            return deliver(delivered, reportsNotified: false)
        }
    }

    private mutating func ended(_ id: CentralID) -> [Effect] {
        guard let central = centrals.removeValue(forKey: id) else { return [] }
        channel.closed(connection: central.connection)
        // The base link requires a response to each request, even if the fault plan lost the response.
        let unlikelyError: UInt8 = 0x0E
        return central.unanswered.sorted().map { .perform(.respond(token: $0, .error(unlikelyError))) }
    }

    /// Passes a read or write to the consumer, or loses it.
    private mutating func receive(
        _ event: PeripheralEvent, _ opcode: ATTOpcode, from id: CentralID, at now: MonotonicInstant
    ) -> [Effect] {
        guard let connection = centrals[id]?.connection else { return [.yield(event)] }
        return channel.transmit(.yield(event), opcode: opcode, .toPeripheral, connection: connection, at: now).map {
            switch $0 {
            case .deliver(_, _, let delivered): delivered
            case .disconnect: .perform(.disconnect(id))
            case .log(let line): .log(line)
            }
        }
    }

    /// Passes a response or value to the central: at once, later, twice or never. Unless `isSent` is true, the caller
    /// must report `notified`.
    private mutating func send(
        _ request: PeripheralRequest, _ opcode: ATTOpcode, to id: CentralID, _ connection: Int, at now: MonotonicInstant
    ) -> (effects: [Effect], isSent: Bool) {
        var isSent = false
        var effects: [Effect] = []
        for effect in channel.transmit(.perform(request), opcode: opcode, .toCentral, connection: connection, at: now) {
            switch effect {
            case .deliver(_, _, let delivered):
                // The first one is `request`. A copy of it, or requests that it has overtaken, can follow.
                effects.append(deliver(delivered, reportsNotified: !isSent))
                isSent = true
            case .disconnect: effects.append(.perform(.disconnect(id)))
            case .log(let line): effects.append(.log(line))
            }
        }
        return (effects, isSent)
    }

    private mutating func deliver(_ delivered: Effect, reportsNotified: Bool) -> Effect {
        switch delivered {
        case .perform(.respond(let token, _)):
            for id in centrals.keys { centrals[id]?.unanswered.remove(token) }
        case .perform(.notify(let uuid, _)):
            expectsNotified[uuid, default: []].append(reportsNotified)
        case .perform, .yield, .log: break
        }
        return delivered
    }
}
