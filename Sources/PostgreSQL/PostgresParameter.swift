import CLibPQ

/// A parameter of a statement in the binary format of PostgreSQL.
struct PostgresParameter: Sendable {
    let type: Oid
    /// The value as PostgreSQL receives it; `nil` for NULL.
    private(set) var bytes: [UInt8]?

    // Types of pg_type, which are constant.
    private static let (int4, int8, text, date, timestamptz): (Oid, Oid, Oid, Oid, Oid) = (23, 20, 25, 1082, 1184)
    private static let arrays: [Oid: Oid] = [int4: 1007, text: 1009, date: 1182, timestamptz: 1185]

    static func text(_ value: String?) -> Self { Self(type: text, bytes: value.map { Array(clean($0).utf8) }) }

    static func integer(_ value: Int64?) -> Self { Self(type: int8, bytes: value.map { bytes($0) }) }

    static func texts(_ values: [String?]) -> Self {
        array(values, of: text) { value, bytes in
            let utf8 = clean(value).utf8
            append(Int32(utf8.count), to: &bytes)
            bytes += utf8
        }
    }

    static func integers(_ values: [Int?]) -> Self { fixed(values.map { $0.map(Int32.init(clamping:)) }, of: int4) }

    /// - Parameter values: days since 1970-01-01.
    static func days(_ values: [Int?]) -> Self {
        fixed(values.map { $0.map { Int32(clamping: $0 - 10_957) } }, of: date)
    }

    /// - Parameter values: milliseconds since 1970.
    static func instants(_ values: [Int64?]) -> Self {
        fixed(values.map { $0.map { ($0 - 946_684_800_000) * 1000 } }, of: timestamptz)
    }

    private static func fixed<Number: FixedWidthInteger>(_ values: [Number?], of type: Oid) -> Self {
        array(values, of: type) { value, bytes in
            append(Int32(MemoryLayout<Number>.size), to: &bytes)
            append(value, to: &bytes)
        }
    }

    /// An array of one dimension: header, then the length and the bytes of each element.
    private static func array<Value>(
        _ values: [Value?], of type: Oid, _ element: (Value, inout [UInt8]) -> Void
    ) -> Self {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(20 + values.count * 16)
        for number in [1, 1, Int32(bitPattern: type), Int32(values.count), 1] { append(number, to: &bytes) }
        for value in values {
            if let value { element(value, &bytes) } else { append(Int32(-1), to: &bytes) }
        }
        return Self(type: arrays[type] ?? 0, bytes: bytes)
    }

    private static func append(_ number: some FixedWidthInteger, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }

    private static func bytes(_ number: Int64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

    /// PostgreSQL cannot store U+0000 in a text.
    private static func clean(_ text: String) -> String {
        text.utf8.contains(0) ? text.replacing("\0", with: "\u{FFFD}") : text
    }
}
