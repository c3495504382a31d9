import BottleProtocol

/// The 13 bytes of one drink record as the bottle sent them, stored inline. Equality compares all bytes.
struct RawRecord: Hashable, Sendable {
    private let head: UInt64
    private let tail: UInt64

    /// Takes the first 13 bytes of at least 13.
    init(_ bytes: ArraySlice<UInt8>) {
        let split = bytes.startIndex + 8
        head = bytes[..<split].reduce(0) { $0 << 8 | UInt64($1) }
        tail = bytes[split..<(split + DrinkRecord.size - 8)].reduce(0) { $0 << 8 | UInt64($1) }
    }

    var bytes: [UInt8] {
        stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: head >> UInt64($0)) }
            + stride(from: 32, through: 0, by: -8).map { UInt8(truncatingIfNeeded: tail >> UInt64($0)) }
    }

    /// The date and time in the bottle's format. They sort like the log while the bottle's clock runs forward.
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
