import Bluetooth

/// Tells for each PDU of a capture whether a filter wants it. Feed it every event in order: answers are judged by their
/// requests.
package struct TrafficGate {
    /// What is wanted.
    package let filter: TrafficFilter
    private var pairs = RequestPairs()
    private var from: Duration?
    private var to: Duration?
    private var hasStarted = false
    /// Whether requests must be followed to judge their answers.
    private let followsRequests: Bool
    private let judgesTime: Bool

    /// At the beginning of a capture.
    package init(_ filter: TrafficFilter) {
        self.filter = filter
        judgesTime = filter.from != nil || filter.to != nil
        followsRequests =
            !filter.handles.isEmpty || filter.kinds.contains { [.writes, .reads, .discovery].contains($0) }
    }

    /// `nil` where every PDU passes. For readers that know better than a connection's address whose a PDU is.
    init?(besideDevice filter: TrafficFilter) {
        guard !filter.isEmptyBesideDevice else { return nil }
        var rest = filter
        rest.device = nil
        self.init(rest)
    }

    /// Tells the time of the first packet, also of one that holds no PDU. Without it the first PDU's counts.
    package mutating func start(at time: Duration?) {
        guard let time, !hasStarted else { return }
        hasStarted = true
        from = filter.from?.resolved(from: time)
        to = filter.to?.resolved(from: time)
    }

    /// Whether an event is wanted. Everything that is no PDU is: connections, names, what was lost.
    package mutating func wants(_ event: ConversationEvent, _ pdu: RawSpan) -> Bool {
        switch event {
        case .att(let observation):
            guard followsRequests else { return wants(observation, pdu, asked: nil) }
            var asked: RequestPairs.Request?
            switch pairs.take(observation, pdu) {
            case .answer(let request): asked = request
            default: break
            }
            return wants(observation, pdu, asked: asked)
        case .disconnected(let connection, _):
            _ = pairs.end(connection.id)
            return true
        default: return true
        }
    }

    /// As `wants`; and what tells whose a characteristic is passes also: what a filter hides is not forgotten.
    package mutating func passes(_ event: ConversationEvent, _ pdu: RawSpan) -> Bool {
        if wants(event, pdu) { return true }
        guard case .att(let observation) = event, let opcode = pdu.first else { return true }
        return observation.isSynthetic || TrafficKind.isDiscovery(opcode)
            || (opcode == 0x01 && pdu.byteCount > 1 && TrafficKind.isDiscovery(pdu.byte(1)))
    }

    /// - Parameter asked: the request that it answers.
    mutating func wants(_ observation: ATTObservation, _ pdu: RawSpan, asked: RequestPairs.Request?) -> Bool {
        guard let opcode = pdu.first else { return false }
        if let device = filter.device, observation.connection.peer != device, observation.connection.central != device {
            return false
        }
        if judgesTime {
            start(at: observation.time)
            guard let time = observation.time else { return false }
            if let from, time < from { return false }
            if let to, time >= to { return false }
        }
        if !filter.handles.isEmpty {
            guard let handle = asked?.handle ?? RequestPairs.handle(of: pdu, opcode), filter.handles.contains(handle)
            else { return false }
        }
        if !filter.kinds.isEmpty {
            let asked = asked?.opcode ?? (opcode == 0x01 && pdu.byteCount > 1 ? pdu.byte(1) : nil)
            guard filter.kinds.contains(where: { $0.holds(opcode, asked: asked) }) else { return false }
        }
        return true
    }
}
