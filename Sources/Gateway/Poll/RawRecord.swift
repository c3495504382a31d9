import BottleProtocol

/// The 13 bytes of one drink record as the bottle sent them, stored inline. Equality compares all bytes.
struct RawRecord: Hashable, Sendable {
    private let head: UInt64
    private let tail: UInt64

    /// - Parameter bytes: at least 13 bytes, of which the first 13 are used.
    init(_ bytes: ArraySlice<UInt8>) {
        let split = bytes.startIndex + 8
        head = bytes[..<split].reduce(0) { $0 << 8 | UInt64($1) }
        tail = bytes[split..<(split + DrinkRecord.size - 8)].reduce(0) { $0 << 8 | UInt64($1) }
    }

    var bytes: [UInt8] {
        stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: head >> UInt64($0)) }
            + stride(from: 32, through: 0, by: -8).map { UInt8(truncatingIfNeeded: tail >> UInt64($0)) }
    }

    /// The date and time in the bottle's format. Later times have larger values.
    var timestamp: UInt64 { head >> 16 }
}

extension LogTransfer {
    var records: [RawRecord] {
        stride(from: 0, to: count * DrinkRecord.size, by: DrinkRecord.size).map { RawRecord(recordBytes[$0...]) }
    }
}

extension [RawRecord] {
    /// The records without repeats. The first occurrence is kept.
    var distinct: [RawRecord] {
        var seen: Set<RawRecord> = []
        return filter { seen.insert($0).inserted }
    }
}
