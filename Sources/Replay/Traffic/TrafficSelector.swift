package import Bluetooth

/// Applies a filter to the PDUs of a capture. Pass every event in order: a response is selected by its request.
package struct TrafficSelector {
    private let filter: TrafficFilter
    private var matcher = RequestMatcher()
    private var from: Duration?
    private var to: Duration?
    private var hasStarted = false
    /// Whether requests must be followed to select their responses.
    private let followsRequests: Bool
    private let filtersByTime: Bool

    package init(_ filter: TrafficFilter) {
        self.filter = filter
        filtersByTime = filter.from != nil || filter.to != nil
        followsRequests =
            !filter.handles.isEmpty || filter.kinds.contains { [.writes, .reads, .discovery].contains($0) }
    }

    /// Sets the time of the first packet, to which relative times refer. Without a call, the first PDU's time applies.
    package mutating func start(at time: Duration?) {
        guard let time, !hasStarted else { return }
        hasStarted = true
        from = filter.from?.resolved(from: time)
        to = filter.to?.resolved(from: time)
    }

    /// Whether an event is selected. Events that are not PDUs (connections, names, losses) are selected by device only.
    package mutating func selects(_ event: ConversationEvent, _ pdu: RawSpan) -> Bool {
        switch event {
        case .att(let observation):
            guard followsRequests else { return selects(observation, pdu, matched: nil) }
            return selects(observation, pdu, matched: matcher.match(observation, pdu).matchedRequest)
        case .disconnected(let connection, _):
            _ = matcher.end(connection.id)
            return isOfDevice(connection)
        case .connected(let connection), .encrypted(let connection): return isOfDevice(connection)
        case .dropped(_, let connection): return isOfDevice(connection)
        case .advertised(let advertiser): return filter.device.map { $0 == advertiser.address } ?? true
        }
    }

    private func isOfDevice(_ connection: ObservedConnection?) -> Bool {
        guard let device = filter.device else { return true }
        return connection.map { $0.peer == device || $0.central == device } ?? false
    }

    /// Like `selects`, but also passes all PDUs of the device that identify characteristics, so that discovery is
    /// complete.
    package mutating func passes(_ event: ConversationEvent, _ pdu: RawSpan) -> Bool {
        if selects(event, pdu) { return true }
        guard case .att(let observation) = event, isOfDevice(observation.connection), let opcode = pdu.first else {
            return false
        }
        return observation.isSynthetic || TrafficKind.isDiscovery(opcode)
            || (opcode == 0x01 && pdu.byteCount > 1 && TrafficKind.isDiscovery(pdu.byte(1)))
    }

    /// Whether the filter selects a PDU.
    /// - Parameter matched: the request of the PDU, if it is a response.
    mutating func selects(_ observation: ATTObservation, _ pdu: RawSpan, matched: RequestMatcher.Request?) -> Bool {
        guard let opcode = pdu.first, isOfDevice(observation.connection) else { return false }
        if filtersByTime {
            start(at: observation.time)
            guard let time = observation.time else { return false }
            if let from, time < from { return false }
            if let to, time >= to { return false }
        }
        if !filter.handles.isEmpty {
            guard let handle = matched?.handle ?? RequestMatcher.handle(of: pdu, opcode),
                filter.handles.contains(handle)
            else { return false }
        }
        if !filter.kinds.isEmpty {
            let request = matched?.opcode ?? (opcode == 0x01 && pdu.byteCount > 1 ? pdu.byte(1) : nil)
            guard filter.kinds.contains(where: { $0.includes(opcode, request: request) }) else { return false }
        }
        return true
    }
}
