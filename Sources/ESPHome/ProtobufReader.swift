/// Reads the fields of a protocol buffer. Throws `Malformed` for invalid bytes.
struct ProtobufReader {
    /// The bytes are invalid from `offset`.
    struct Malformed: Error, Hashable {
        let offset: Int
    }

    enum Value: Hashable {
        case number(UInt64)
        case bytes(ArraySlice<UInt8>)
    }

    private let bytes: ArraySlice<UInt8>
    private var at: Int

    init(_ bytes: some Sequence<UInt8>) {
        self.bytes = ArraySlice(bytes)
        at = self.bytes.startIndex
    }

    /// The next field and its value; `nil` at the end.
    mutating func next() throws(Malformed) -> (field: Int, value: Value)? {
        guard at < bytes.endIndex else { return nil }
        let tag = try varint()
        guard let field = Int(exactly: tag >> 3), field > 0 else { throw Malformed(offset: at) }
        switch tag & 7 {
        case 0: return (field, .number(try varint()))
        case 1: return (field, .number(try fixed(8)))
        case 2:
            let length = try varint()
            guard length <= UInt64(bytes.endIndex - at) else { throw Malformed(offset: at) }
            let end = at + Int(length)
            defer { at = end }
            return (field, .bytes(bytes[at..<end]))
        case 5: return (field, .number(try fixed(4)))
        default: throw Malformed(offset: at)
        }
    }

    /// The integers of a packed repeated field.
    static func packed(_ bytes: ArraySlice<UInt8>) throws(Malformed) -> [UInt64] {
        var reader = ProtobufReader(bytes)
        var found: [UInt64] = []
        while reader.at < reader.bytes.endIndex { found.append(try reader.varint()) }
        return found
    }

    private mutating func varint() throws(Malformed) -> UInt64 {
        var (value, shift) = (UInt64(0), UInt64(0))
        while at < bytes.endIndex, shift < 64 {
            let byte = bytes[at]
            at += 1
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        throw Malformed(offset: at)
    }

    private mutating func fixed(_ size: Int) throws(Malformed) -> UInt64 {
        guard bytes.endIndex - at >= size else { throw Malformed(offset: at) }
        defer { at += size }
        return bytes[at..<(at + size)].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
