/// Encodes the fields of a protocol buffer (version 3: zero and empty values are omitted).
struct ProtobufFields {
    private(set) var bytes: [UInt8] = []

    mutating func put(_ field: Int, _ value: UInt64) {
        guard value != 0 else { return }
        bytes += Self.varint(UInt64(field) << 3)
        bytes += Self.varint(value)
    }

    mutating func put(_ field: Int, _ value: [UInt8]) {
        guard !value.isEmpty else { return }
        bytes += Self.varint(UInt64(field) << 3 | 2)
        bytes += Self.varint(UInt64(value.count))
        bytes += value
    }

    /// Base-128 varint: seven bits per byte, least significant first; the high bit is set except in the last byte.
    static func varint(_ value: UInt64) -> [UInt8] {
        var (rest, bytes) = (value, [UInt8]())
        while rest > 0x7F {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }
}
