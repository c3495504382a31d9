/// The GATT server of a peripheral on sockets, memory or HCI: ATT PDUs of all bearers on one side, `PeripheralEvent`
/// and `PeripheralRequest` on the other.
///
/// Each central's requests, prepared writes, unsent values, log lines and confirmation times are limited.
/// `disconnected` ends a central's subscriptions without `unsubscribed` events. Source: Core 5.4, Vol 3 Parts F and G.
package struct GATTServer: Sendable {
    package enum Input: Hashable, Sendable {
        case opened(CentralID)
        case closed(CentralID)
        case received(CentralID, [UInt8])
        case request(PeripheralRequest)
        /// The bearer is congested: values wait until `drained`.
        case congested(CentralID)
        case drained(CentralID)
        case tick
    }

    package enum Effect: Hashable, Sendable {
        case send(CentralID, [UInt8])
        case event(PeripheralEvent)
        /// Close this bearer. `disconnected` follows.
        case close(CentralID)
        case advertise(Bool)
        case log(String)
    }

    /// A value of `notify` with the subscribers that have not received it.
    private struct Delivery: Sendable {
        var id: UInt64
        var characteristic: BluetoothUUID
        var pendingCentrals: Set<CentralID>
    }

    private let table: GATTTable
    private let maximumMTU: Int
    private var bearers: [ServerBearer] = []
    private var lastBearer: UInt64 = 0
    /// The values of `notify` that some subscriber has not received yet, oldest first.
    private var deliveries: [Delivery] = []
    private var lastDelivery: UInt64 = 0
    private var effects: [Effect] = []

    package init(_ application: GATTApplication) throws(LinkError) {
        table = try GATTTable(application)
        maximumMTU = min(max(application.maximumMTU, ATTPDU.defaultMTU), ATTPDU.maximumMTU)
    }

    /// The earliest time at which `tick` has an effect.
    package var nextDeadline: MonotonicInstant? {
        bearers.compactMap(\.deadline).min()
    }

    /// Handles one input and returns its effects in order. Time must not go backwards.
    package mutating func handle(_ input: Input, at now: MonotonicInstant) -> [Effect] {
        switch input {
        case .opened(let id): open(id)
        case .closed(let id): if let index = index(of: id) { remove(index) }
        case .received(let id, let bytes): update(id, at: now) { $0.receive(bytes) }
        case .request(let request): perform(request, at: now)
        case .congested(let id): update(id, at: now) { $0.congested() }
        case .drained(let id): update(id, at: now) { $0.drained() }
        case .tick: for id in bearers.map(\.id) { update(id, at: now) { $0.expire() } }
        }
        completeDeliveries()
        defer { effects = [] }
        return effects
    }

    private mutating func perform(_ request: PeripheralRequest, at now: MonotonicInstant) {
        switch request {
        case .respond(let token, let response):
            // The central might have disconnected, or the time limit has passed.
            guard let bearer = bearers.first(where: { $0.transaction?.token == token }) else { return }
            update(bearer.id, at: now) { $0.finish(response) }
        case .notify(let uuid, let value): notify(uuid, value, at: now)
        case .disconnect(let id): update(id, at: now) { $0.close() }
        case .advertise(let visible): effects.append(.advertise(visible))
        }
    }

    // MARK: Bearers

    private func index(of id: CentralID) -> Int? { bearers.firstIndex { $0.id == id } }

    private mutating func open(_ id: CentralID) {
        guard index(of: id) == nil else { return }
        lastBearer += 1
        bearers.append(ServerBearer(id, number: lastBearer, table, maximumMTU: maximumMTU))
        effects.append(.event(.connected(id)))
    }

    /// Calls `body` with a bearer, collects the effects, and removes the bearer if it is closed.
    private mutating func update(_ id: CentralID, at now: MonotonicInstant, _ body: (inout ServerBearer) -> Void) {
        guard let index = index(of: id) else { return }
        bearers[index].now = now
        body(&bearers[index])
        effects += bearers[index].effects
        for sent in bearers[index].deliveryIDs {
            guard let delivery = deliveries.firstIndex(where: { $0.id == sent }) else { continue }
            deliveries[delivery].pendingCentrals.remove(id)
        }
        bearers[index].effects = []
        bearers[index].deliveryIDs = []
        if bearers[index].isClosed { remove(index) }
    }

    private mutating func remove(_ index: Int) {
        let id = bearers.remove(at: index).id
        for index in deliveries.indices { deliveries[index].pendingCentrals.remove(id) }
        effects.append(.event(.disconnected(id)))
    }

    // MARK: Notifications

    private mutating func notify(_ characteristic: BluetoothUUID, _ value: [UInt8], at now: MonotonicInstant) {
        lastDelivery += 1
        var delivery = Delivery(id: lastDelivery, characteristic: characteristic, pendingCentrals: [])
        guard let handle = table.valueHandle(of: characteristic), case .value? = table[handle]?.content else {
            effects.append(.log("cannot notify \(characteristic): unknown characteristic"))
            return deliveries.append(delivery)
        }
        let subscribers = bearers.filter { $0.cccdValues[handle] != nil }.map(\.id)
        delivery.pendingCentrals = Set(subscribers)
        deliveries.append(delivery)
        for id in subscribers { update(id, at: now) { $0.notify(handle, value, delivery: delivery.id) } }
    }

    /// Reports `notified` in order, one for each value that all subscribers have.
    private mutating func completeDeliveries() {
        let completed = deliveries.prefix { $0.pendingCentrals.isEmpty }
        for delivery in completed { effects.append(.event(.notified(delivery.characteristic))) }
        deliveries.removeFirst(completed.count)
    }
}
