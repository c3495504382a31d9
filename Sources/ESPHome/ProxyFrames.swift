/// Frames in the stream of an ESPHome device: `00 length type message` (varints), or encrypted `01 length(2) body`.
struct ProxyFrames {
    enum Step: Hashable {
        case message(type: Int, [UInt8])
        case encrypted([UInt8])
        case incomplete
        /// The frame is unencrypted although a key is set, or encrypted although no key is set.
        case wrongEncryption(isEncrypted: Bool)
        /// The frame type is invalid, so the start of the next frame is unknown.
        case invalid
    }

    /// The maximum message length in bytes, a 16-bit number.
    static let maximumLength = 65535
    private let isEncrypted: Bool
    private var bytes: [UInt8] = []
    private var start = 0

    init(isEncrypted: Bool) { self.isEncrypted = isEncrypted }

    mutating func append(_ more: [UInt8]) {
        bytes.removeFirst(start)
        start = 0
        bytes += more
    }

    mutating func next() -> Step {
        guard start < bytes.count else { return .incomplete }
        switch bytes[start] {
        case 0: return isEncrypted ? .wrongEncryption(isEncrypted: false) : plain()
        case 1: return isEncrypted ? encrypted() : .wrongEncryption(isEncrypted: true)
        default: return .invalid
        }
    }

    private mutating func plain() -> Step {
        // The varints of a valid length and type have at most three bytes each.
        var rest = bytes[(start + 1)...].prefix(8)
        guard let length = try? ProtobufMessage.varint(&rest), let type = try? ProtobufMessage.varint(&rest) else {
            return bytes.count - start > 8 ? .invalid : .incomplete
        }
        guard length <= Self.maximumLength, type <= Self.maximumLength else { return .invalid }
        let end = rest.startIndex + Int(length)
        guard bytes.count >= end else { return .incomplete }
        defer { start = end }
        return .message(type: Int(type), Array(bytes[rest.startIndex..<end]))
    }

    private mutating func encrypted() -> Step {
        guard bytes.count - start >= 3 else { return .incomplete }
        let length = Int(bytes[start + 1]) << 8 | Int(bytes[start + 2])
        guard bytes.count - start - 3 >= length else { return .incomplete }
        defer { start += 3 + length }
        return .encrypted(Array(bytes[(start + 3)..<(start + 3 + length)]))
    }

    static func plain(type: Int, _ message: [UInt8]) -> [UInt8] {
        [0] + ProtobufFields.varint(UInt64(message.count)) + ProtobufFields.varint(UInt64(type)) + message
    }

    static func encrypted(_ body: [UInt8]) -> [UInt8] {
        [1, UInt8(truncatingIfNeeded: body.count >> 8), UInt8(truncatingIfNeeded: body.count)] + body
    }
}
