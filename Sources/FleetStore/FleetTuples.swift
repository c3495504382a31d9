/// Rows as PostgreSQL's COPY takes them in its binary form: nothing has to be written as text there and read as text
/// here (PostgreSQL's documentation, COPY, "Binary Format"; the types' `…recv` in its source).
struct FleetTuples {
    /// As they go over the wire; whole once `finish` was called.
    private(set) var bytes: [UInt8]

    /// - Parameter size: about how many bytes there will be.
    init(size: Int) {
        bytes = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0]
        bytes.reserveCapacity(size)
        // No flags, and no longer header.
        append(Int32(0))
        append(Int32(0))
    }

    /// Begins a row of so many columns.
    mutating func begin(columns: Int16) { append(columns) }

    /// `text`.
    mutating func add(_ text: String) {
        append(Int32(truncatingIfNeeded: text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }

    /// `text`; `nil`: NULL.
    mutating func add(_ text: String?) { if let text { add(text) } else { append(Int32(-1)) } }

    /// `bigint` or `integer`.
    mutating func add(_ number: some FixedWidthInteger) {
        append(Int32(number.bitWidth / 8))
        append(number)
    }

    /// The same; `nil`: NULL.
    mutating func add(_ number: (some FixedWidthInteger)?) { if let number { add(number) } else { append(Int32(-1)) } }

    /// `date`, by days since 1970-01-01; `nil`: NULL. PostgreSQL counts from 2000-01-01.
    mutating func add(day: Int?) { add(day.map { Int32(clamping: $0 - 10_957) }) }

    /// `boolean`.
    mutating func add(_ truth: Bool) {
        append(Int32(1))
        bytes.append(truth ? 1 : 0)
    }

    /// There are no more.
    mutating func finish() { append(Int16(-1)) }

    private mutating func append(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }
}
