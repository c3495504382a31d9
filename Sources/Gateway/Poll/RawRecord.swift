import BottleProtocol

/// The 13 bytes of one drink record as the bottle sent them, stored inline. Equality compares all bytes.
struct RawRecord: Hashable, Sendable {
    /// The bytes as a big-endian number.
    private let value: UInt128

    /// - Parameter bytes: at least 13 bytes, of which the first 13 are used.
    init(_ bytes: ArraySlice<UInt8>) {
        value = bytes.prefix(DrinkRecord.size).reduce(0) { $0 << 8 | UInt128($1) }
    }

    var bytes: [UInt8] {
        stride(from: 8 * (DrinkRecord.size - 1), through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    /// The date and time in the bottle's format. Later times have larger values.
    var timestamp: UInt64 { UInt64(truncatingIfNeeded: value >> (8 * (DrinkRecord.size - 6))) }
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
