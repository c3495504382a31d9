import Bluetooth

/// What a PDU does in the conversation, as a person asks for it: "only notifications". A PDU can be of several kinds.
package enum TrafficKind: String, Sendable, CaseIterable {
    /// Everything that asks for an answer.
    case requests
    /// Every answer, error responses included.
    case responses
    /// Error responses.
    case errors
    /// Values that the server sends unasked, without confirmation.
    case notifications
    /// Values that the server sends unasked, and their confirmations.
    case indications
    /// What the client sends without waiting for an answer.
    case commands
    /// Every way to write a value, and what answers it.
    case writes
    /// Every way to read a value by its handle, and what answers it.
    case reads
    /// MTU, services, characteristics and descriptors, asked and answered.
    case discovery

    /// Whether a PDU is of this kind. Of an error response, the request that it answers decides about `writes`, `reads`
    /// and `discovery`.
    /// - Parameter asked: the request that it answers, where that is known.
    func holds(_ opcode: UInt8, asked: UInt8?) -> Bool {
        let method = opcode == 0x01 ? asked ?? 0 : opcode
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

    /// MTU exchange, Find Information, Find By Type Value, Read By Type, Read By Group Type, and their answers.
    static func isDiscovery(_ opcode: UInt8) -> Bool {
        (0x02...0x09).contains(opcode) || opcode == 0x10 || opcode == 0x11
    }

    /// Where the value begins in a PDU that carries one; 0 in all others.
    static func valueStart(_ opcode: UInt8) -> Int {
        switch opcode {
        case 0x0B, 0x0D, 0x0F, 0x21: 1
        case 0x12, 0x1B, 0x1D, 0x23, 0x52, 0xD2: 3
        case 0x16, 0x17: 5
        default: 0
        }
    }

    /// By opcode: a set would be asked for every PDU of a large capture.
    static let isRequest: [Bool] = (0...255).map { ATTOpcode(rawValue: $0).response != nil }
    static let isResponse: [Bool] = (0...255).map { ATTOpcode(rawValue: $0).isResponse }
}
