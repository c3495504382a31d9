import Bluetooth

/// A kind of PDU that users can select, such as notifications. A PDU can be of several kinds.
package enum TrafficKind: String, Sendable, CaseIterable {
    /// PDUs that require a response.
    case requests
    /// All responses, including error responses.
    case responses
    case errors
    /// Values sent by the server, without confirmation.
    case notifications
    /// Values sent by the server, and their confirmations.
    case indications
    /// PDUs of the client without a response.
    case commands
    /// All writes of values, and their responses.
    case writes
    /// All reads of values by handle, and their responses.
    case reads
    /// Requests about MTU, services, characteristics and descriptors, and their responses.
    case discovery

    /// Whether a PDU is of this kind. An error response is of the kind of its request.
    /// - Parameter request: the opcode of the request, if the PDU is a response.
    func includes(_ opcode: UInt8, request: UInt8?) -> Bool {
        let method = opcode == 0x01 ? request ?? 0 : opcode
        return switch self {
        case .requests: Self.isRequest[Int(opcode)]
        case .responses: Self.isResponse[Int(opcode)]
        case .errors: opcode == 0x01
        case .notifications: opcode == 0x1B || opcode == 0x23
        case .indications: opcode == 0x1D || opcode == 0x1E
        case .commands: opcode & 0x40 != 0
        case .writes: (0x12...0x19).contains(method) || method == 0x52 || method == 0xD2
        case .reads: (0x0A...0x0F).contains(method) || method == 0x20 || method == 0x21
        case .discovery: Self.isDiscovery(method)
        }
    }

    /// MTU exchange, Find Information, Find By Type Value, Read By Type, Read By Group Type, and their responses.
    static func isDiscovery(_ opcode: UInt8) -> Bool {
        (0x02...0x09).contains(opcode) || opcode == 0x10 || opcode == 0x11
    }

    /// The offset of the value in a PDU; 0 if it has none.
    static func valueStart(_ opcode: UInt8) -> Int {
        switch opcode {
        case 0x0B, 0x0D, 0x0F, 0x21: 1
        case 0x12, 0x1B, 0x1D, 0x23, 0x52, 0xD2: 3
        case 0x16, 0x17: 5
        default: 0
        }
    }

    /// Whether each opcode is a request. A table, because a set would be slow for every PDU of a large capture.
    static let isRequest: [Bool] = (0...255).map { ATTOpcode(rawValue: $0).response != nil }
    static let isResponse: [Bool] = (0...255).map { ATTOpcode(rawValue: $0).isResponse }
}
