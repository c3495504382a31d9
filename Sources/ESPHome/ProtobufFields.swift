/// The fields of a protocol buffer as bytes: each behind its number and its kind (Protocol Buffers, Encoding; version
/// 3, so what is zero or empty is left out).
struct ProtobufFields {
    private(set) var bytes: [UInt8] = []

    /// A number, an enumeration or a truth.
    mutating func put(_ field: Int, _ value: UInt64) {
        guard value != 0 else { return }
        bytes += Self.varint(UInt64(field) << 3)
        bytes += Self.varint(value)
    }

    /// Bytes, a text or a message.
    mutating func put(_ field: Int, _ value: [UInt8]) {
        guard !value.isEmpty else { return }
        bytes += Self.varint(UInt64(field) << 3 | 2)
        bytes += Self.varint(UInt64(value.count))
        bytes += value
    }

    /// Seven bits a byte, the lowest first; all but the last have their highest bit set.
    static func varint(_ value: UInt64) -> [UInt8] {
        var (rest, bytes) = (value, [UInt8]())
        while rest > 0x7F {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }
}
