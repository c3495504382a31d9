// Sends values to subscribers, in order. `notified` follows when the last subscriber has the value.
extension GATTServer {
    mutating func notify(_ characteristic: BluetoothUUID, _ value: [UInt8], at now: MonotonicInstant) {
        lastDelivery += 1
        var delivery = Delivery(id: lastDelivery, characteristic: characteristic, awaited: [])
        guard let handle = table.valueHandle(of: characteristic) else {
            emit(.log("cannot notify \(characteristic): unknown characteristic"))
            return deliveries.append(delivery)
        }
        var isForAll = false
        if case .value(let local) = table[handle]?.content { isForAll = local.notifiesAnybody }
        let subscribers = bearers.filter { isForAll || $0.configurations[handle] != nil }.map(\.id)
        delivery.awaited = Set(subscribers)
        deliveries.append(delivery)
        for id in subscribers {
            guard let bearer = index(of: id), let bits = bearers[bearer].configurations[handle] ?? (isForAll ? 1 : nil)
            else { continue }
            guard bearers[bearer].outbox.count < Limit.waitingValues else {
                close(bearer, because: "does not receive its notifications; \(Limit.waitingValues) are pending")
                continue
            }
            // A central that enabled both notifications and indications receives notifications.
            bearers[bearer].outbox.append(
                Outgoing(delivery: lastDelivery, handle: handle, value: value, isIndication: bits & 1 == 0))
            if bearers[bearer].continueAt == nil { flush(bearer, at: now) }
        }
    }

    /// Sends queued PDUs, except while the bearer is congested or an indication is unconfirmed. Each call sends a
    /// limited number, so that congestion is noticed; the next `tick` continues.
    mutating func flush(_ bearer: Int, at now: MonotonicInstant) {
        bearers[bearer].continueAt = nil
        var room = Limit.valuesInOneGo
        while bearers[bearer].mayLeave {
            guard room > 0 else { return bearers[bearer].continueAt = now }
            room -= 1
            let next = bearers[bearer].outbox.removeFirst()
            // Truncated to the MTU (Vol 3 Part F, 3.4.7.1).
            let value = Array(next.value.prefix(bearers[bearer].mtu - 3))
            if next.isIndication {
                send(.indication(handle: next.handle, value: value), on: bearer)
                bearers[bearer].indication = (next.delivery, now.advanced(by: Limit.transaction))
            } else {
                send(.notification(handle: next.handle, value: value), on: bearer)
                arrived(next.delivery, at: bearers[bearer].id)
            }
        }
    }

    mutating func confirm(_ bearer: Int, at now: MonotonicInstant) {
        guard let indication = bearers[bearer].indication else {
            return log("sent an unexpected confirmation; ignored", on: bearer)
        }
        bearers[bearer].indication = nil
        arrived(indication.delivery, at: bearers[bearer].id)
        flush(bearer, at: now)
    }

    private mutating func arrived(_ id: UInt64, at central: CentralID) {
        guard let index = deliveries.firstIndex(where: { $0.id == id }) else { return }
        deliveries[index].awaited.remove(central)
    }

    /// Reports `notified` in order, one for each value that all subscribers have.
    mutating func completeDeliveries() {
        let through = deliveries.prefix { $0.awaited.isEmpty }
        for delivery in through { emit(.event(.notified(delivery.characteristic))) }
        deliveries.removeFirst(through.count)
    }
}
