import CLibPQ

/// A row of what PostgreSQL found, read where it lies. Good only while it is handed over.
struct FleetRow {
    private let result: OpaquePointer
    private let row: Int32

    init(_ result: OpaquePointer, _ row: Int32) { (self.result, self.row) = (result, row) }

    private func bytes(_ column: Int32) -> UnsafeRawBufferPointer? {
        guard PQgetisnull(result, row, column) == 0, let value = PQgetvalue(result, row, column) else { return nil }
        return UnsafeRawBufferPointer(start: value, count: Int(PQgetlength(result, row, column)))
    }

    /// `nil`: NULL.
    func text(_ column: Int32) -> String? { bytes(column).map { String(decoding: $0, as: UTF8.self) } }

    /// A whole number in decimal digits; `nil`: NULL, or none.
    func number(_ column: Int32) -> Int64? {
        guard let bytes = bytes(column), let first = bytes.first else { return nil }
        let isNegative = first == UInt8(ascii: "-")
        var value: Int64 = 0
        for byte in bytes.dropFirst(isNegative ? 1 : 0) {
            guard (48...57).contains(byte) else { return nil }
            let (ten, isTooLong) = value.multipliedReportingOverflow(by: 10)
            let (next, isTooLarge) = ten.addingReportingOverflow(Int64(byte - 48))
            guard !isTooLong, !isTooLarge else { return nil }
            value = next
        }
        return isNegative ? -value : value
    }
}
