/// The fields of a received protocol buffer. Of a repeated field, `number` and `bytes` return the last value.
struct ProtobufMessage {
    struct Malformed: Error, Hashable {}

    private enum Value {
        case number(UInt64)
        case bytes(ArraySlice<UInt8>)
    }

    private var fields: [(number: UInt64, value: Value)] = []

    init(_ bytes: some Sequence<UInt8>) throws(Malformed) {
        var rest = ArraySlice(bytes)
        while !rest.isEmpty {
            let tag = try Self.varint(&rest)
            guard tag >> 3 > 0 else { throw Malformed() }
            let value: Value =
                switch tag & 7 {
                case 0: .number(try Self.varint(&rest))
                case 1: .number(try Self.take(8, &rest).reversed().reduce(0) { $0 << 8 | UInt64($1) })
                case 2: .bytes(try Self.take(Self.varint(&rest), &rest))
                case 5: .number(try Self.take(4, &rest).reversed().reduce(0) { $0 << 8 | UInt64($1) })
                default: throw Malformed()
                }
            fields.append((tag >> 3, value))
        }
    }

    static func varint(_ rest: inout ArraySlice<UInt8>) throws(Malformed) -> UInt64 {
        var (value, shift) = (UInt64(0), UInt64(0))
        while shift < 64, let byte = rest.popFirst() {
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        throw Malformed()
    }

    private static func take(_ count: UInt64, _ rest: inout ArraySlice<UInt8>) throws(Malformed) -> ArraySlice<UInt8> {
        guard count <= rest.count else { throw Malformed() }
        defer { rest.removeFirst(Int(count)) }
        return rest.prefix(Int(count))
    }

    // MARK: Values

    func integer(_ field: UInt64) -> UInt64 {
        for case (field, .number(let number)) in fields.reversed() { return number }
        return 0
    }

    /// A signed 32-bit integer.
    func number(_ field: UInt64) -> Int { Int(Int32(truncatingIfNeeded: integer(field))) }

    /// A zigzag-encoded integer.
    func zigzag(_ field: UInt64) -> Int {
        let value = integer(field)
        return Int(truncatingIfNeeded: value >> 1) ^ -Int(value & 1)
    }

    func bytes(_ field: UInt64) -> [UInt8] { repeated(field).last.map(Array.init) ?? [] }

    func repeated(_ field: UInt64) -> [ArraySlice<UInt8>] {
        fields.compactMap { if case (field, .bytes(let part)) = $0 { part } else { nil } }
    }

    /// The values of a repeated integer, packed or not.
    func integers(_ field: UInt64) throws(Malformed) -> [UInt64] {
        var found: [UInt64] = []
        for (number, value) in fields where number == field {
            switch value {
            case .number(let integer): found.append(integer)
            case .bytes(var packed): while !packed.isEmpty { found.append(try Self.varint(&packed)) }
            }
        }
        return found
    }
}
