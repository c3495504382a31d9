/// Rows as the lines of a COPY in PostgreSQL's text form: columns between tabs, `\N` for NULL, and a backslash before
/// what would end a column or a line (PostgreSQL's manual, COPY).
struct CopyRows {
    /// Each column's values, in the order of the rows.
    private(set) var columns: [[String?]]

    /// A line has other columns than it should.
    struct Malformed: Error {}

    /// - Parameter count: so many columns each line has.
    init(_ lines: [UInt8], count: Int) throws {
        columns = Array(repeating: [], count: count)
        for line in lines.split(separator: UInt8(ascii: "\n")) {
            let values = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
            guard values.count == count else { throw Malformed() }
            for (index, value) in values.enumerated() { columns[index].append(try Self.text(value)) }
        }
    }

    private static let escapes: [UInt8: UInt8] = [
        UInt8(ascii: "b"): 8, UInt8(ascii: "f"): 12, UInt8(ascii: "n"): 10, UInt8(ascii: "r"): 13, UInt8(ascii: "t"): 9,
        UInt8(ascii: "v"): 11,
    ]

    private static func text(_ value: ArraySlice<UInt8>) throws -> String? {
        guard let first = value.firstIndex(of: UInt8(ascii: "\\")) else {
            return String(decoding: value, as: UTF8.self)
        }
        guard !value.elementsEqual(#"\N"#.utf8) else { return nil }
        var bytes = Array(value[..<first]), rest = value[first...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            // PostgreSQL writes these, and a backslash; it reads numbers, too.
            guard let escaped = rest.popFirst() else { throw Malformed() }
            bytes.append(escapes[escaped] ?? escaped)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
