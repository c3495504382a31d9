/// Many values of one type as PostgreSQL's binary form of an array: nothing has to be written as text there and read as
/// text here (PostgreSQL's source, `array_recv` and the types' `…recv`).
struct FleetColumn {
    /// As it goes over the wire.
    private(set) var bytes: [UInt8] = []

    /// Texts; `nil`: NULL.
    init(_ texts: [String?]) {
        begin(type: 25, count: texts.count, size: texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) })
        for text in texts {
            guard let text else {
                append(Int32(-1))
                continue
            }
            append(Int32(truncatingIfNeeded: text.utf8.count))
            bytes.append(contentsOf: text.utf8)
        }
    }

    /// `bigint`.
    init(_ numbers: [Int64?]) {
        begin(type: 20, count: numbers.count, size: 8 * numbers.count)
        for number in numbers { append(number) }
    }

    /// `integer`.
    init(_ numbers: [Int32?]) {
        begin(type: 23, count: numbers.count, size: 4 * numbers.count)
        for number in numbers { append(number) }
    }

    /// `date`, by days since 1970-01-01.
    init(days: [Int?]) {
        begin(type: 1082, count: days.count, size: 4 * days.count)
        // PostgreSQL counts from 2000-01-01.
        for day in days { append(day.map { Int32(clamping: $0 - 10_957) }) }
    }

    /// `boolean`.
    init(_ truths: [Bool]) {
        begin(type: 16, count: truths.count, size: truths.count)
        for truth in truths {
            append(Int32(1))
            bytes.append(truth ? 1 : 0)
        }
    }

    private mutating func begin(type: Int32, count: Int, size: Int) {
        bytes.reserveCapacity(20 + 4 * count + size)
        // One dimension, which may hold NULLs and begins at 1; none where there is nothing.
        for word in [count == 0 ? 0 : 1, 1, type] { append(Int32(word)) }
        guard count > 0 else { return }
        append(Int32(truncatingIfNeeded: count))
        append(Int32(1))
    }

    private mutating func append<Number: FixedWidthInteger>(_ number: Number?) {
        guard let number else { return append(Int32(-1)) }
        append(Int32(MemoryLayout<Number>.size))
        append(number)
    }

    private mutating func append(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }
}
