import BottleProtocol

/// The 13 bytes of one drink record as the bottle sent them, held inline. Two records are the same if all bytes are.
struct RawRecord: Hashable, Sendable {
    private let head: UInt64
    private let tail: UInt64

    /// Takes the first 13 bytes; there must be as many.
    init(_ bytes: ArraySlice<UInt8>) {
        let split = bytes.startIndex + 8
        head = bytes[..<split].reduce(0) { $0 << 8 | UInt64($1) }
        tail = bytes[split..<(split + DrinkRecord.size - 8)].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The bytes as received.
    var bytes: [UInt8] {
        stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: head >> UInt64($0)) }
            + stride(from: 32, through: 0, by: -8).map { UInt8(truncatingIfNeeded: tail >> UInt64($0)) }
    }

    /// Date and time as the bottle wrote them: they sort as the log does while the bottle's clock runs forward.
    var timestamp: UInt64 { head >> 16 }
}

extension LogTransfer {
    /// The records one by one, in the order of the frame.
    var records: [RawRecord] {
        stride(from: 0, to: count * DrinkRecord.size, by: DrinkRecord.size).map { RawRecord(recordBytes[$0...]) }
    }
}

extension [RawRecord] {
    /// Each record once, where it came first.
    var distinct: [RawRecord] {
        var seen: Set<RawRecord> = []
        return filter { seen.insert($0).inserted }
    }
}
