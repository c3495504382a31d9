import Bluetooth

/// Matches the responses on all connections with their requests. ATT allows each side of a bearer one pending request
/// and one pending indication (Core 5.4, Vol 3 Part F, 3.3.2).
struct RequestMatcher {
    /// A request or indication whose response is still to come.
    struct Request {
        var opcode: UInt8
        /// The handle in the request; `nil` without a handle, or for a range.
        var handle: UInt16?
        var direction: TrafficDirection?
        var time: Duration?

        /// Whether the capturing host is the server, which sends indications and receives requests.
        var isServerHost: Bool { direction == (opcode == 0x1D ? .sent : .received) }
    }

    /// The relation of a PDU to earlier ones.
    enum Match {
        /// A new request. `unanswered` is the previous request of the same side if it had no response.
        case request(Request, unanswered: Request?)
        case response(Request)
        /// A response whose request is not in the capture.
        case orphan
        case other

        /// The request of a response; `nil` for other PDUs.
        var matchedRequest: Request? {
            if case .response(let request) = self { request } else { nil }
        }
    }

    private struct Key: Hashable {
        var connection: Int
        var bearer: UInt16
        /// The direction of the request; `nil` if unknown.
        var requester: TrafficDirection?
        var isIndication: Bool
    }

    private var pending: [Key: Request] = [:]
    /// The maximum number of open bearers that are followed.
    private static let maximumPending = 8192

    mutating func match(_ observation: ATTObservation, _ pdu: RawSpan) -> Match {
        guard let opcode = pdu.first else { return .other }
        if opcode == 0x1B || opcode == 0x52 { return .other }
        if TrafficKind.isRequest[Int(opcode)] || opcode == 0x1D {
            let request = Request(
                opcode: opcode, handle: Self.handle(of: pdu, opcode), direction: observation.direction,
                time: observation.time)
            let key = key(observation, observation.direction, isIndication: opcode == 0x1D)
            guard pending[key] != nil || pending.count < Self.maximumPending else {
                return .request(request, unanswered: nil)
            }
            return .request(request, unanswered: pending.updateValue(request, forKey: key))
        }
        guard TrafficKind.isResponse[Int(opcode)] || opcode == 0x1E else { return .other }
        let key = key(observation, observation.direction?.opposite, isIndication: opcode == 0x1E)
        guard let request = pending[key], Self.isResponse(pdu, opcode, to: request) else { return .orphan }
        pending[key] = nil
        return .response(request)
    }

    /// Ends a connection and returns its requests without a response.
    mutating func end(_ connection: Int) -> [Request] {
        pending.keys.filter { $0.connection == connection }.compactMap { pending.removeValue(forKey: $0) }
    }

    /// The connections with a request that has no response.
    var connections: Set<Int> { Set(pending.keys.map(\.connection)) }

    private func key(_ observation: ATTObservation, _ requester: TrafficDirection?, isIndication: Bool) -> Key {
        Key(
            connection: observation.connection.id, bearer: observation.bearer, requester: requester,
            isIndication: isIndication)
    }

    private static func isResponse(_ pdu: RawSpan, _ opcode: UInt8, to request: Request) -> Bool {
        // An error response has the opcode of the rejected request.
        opcode == 0x01 ? pdu.byteCount < 2 || pdu.byte(1) == request.opcode : opcode == request.opcode + 1
    }

    static func handle(of pdu: RawSpan, _ opcode: UInt8) -> UInt16? {
        switch opcode {
        case 0x0A, 0x0C, 0x0E, 0x12, 0x16, 0x17, 0x1B, 0x1D, 0x20, 0x23, 0x52, 0xD2: pdu.little16(at: 1)
        default: nil
        }
    }
}
