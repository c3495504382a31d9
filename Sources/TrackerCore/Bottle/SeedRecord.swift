/// A drink record as the founding app reads it (tracker law A1), the `strict` dialect:
///
///     0   1      2    3     4       5       6          7          8 … 12
///     1A  month  day  hour  minute  second  separator  amount ml  meaning unknown
///
/// The product reads records with `BottleProtocol`; this is the founding reading, kept beside it for its own vectors
/// and for what an app written to it will do.
package struct SeedRecord: Hashable, Sendable {
    /// Its wall clock; the year is to be found.
    package var fields: RecordFields
    /// 0–255 ml, byte 7.
    package var amountMl: Int
    /// Byte 6 was not zero: the amount may be wider than the byte that was read (diagnostic `separatorNotZero`).
    package var separatorNotZero: Bool

    /// Bytes of a record.
    package static let size = 13

    /// `nil` for fewer than 13 bytes, another first byte than `1A`, or fields that no calendar has.
    /// Bytes past the 13th are ignored. Offsets count from the collection's own start, so slices are welcome.
    package init?(_ bytes: some Collection<UInt8>) {
        let record = Array(bytes.prefix(Self.size))
        guard record.count == Self.size, record[0] == 0x1A else { return nil }
        fields = RecordFields(
            year: nil, month: Int(record[1]), day: Int(record[2]),
            hour: Int(record[3]), minute: Int(record[4]), second: Int(record[5]))
        guard fields.isPossibleInSomeYear else { return nil }
        amountMl = Int(record[7])
        separatorNotZero = record[6] != 0
    }

    /// The records of one packet: `PT`, two length bytes, two bytes of metadata, then records of 13 bytes.
    /// A record that cannot be read is skipped, a shorter rest is ignored, another header means no records.
    package static func records(inPacket packet: some Collection<UInt8>) -> [SeedRecord] {
        let bytes = Array(packet)
        guard bytes.count >= 6, bytes[0] == 0x50, bytes[1] == 0x54 else { return [] }
        return stride(from: 6, through: bytes.count - size, by: size).compactMap { SeedRecord(bytes[$0..<($0 + size)]) }
    }
}

/// What a record says about its time: a wall clock, with its year where the dialect has one.
package struct RecordFields: Hashable, Sendable {
    /// The record's own year (`calendar` dialect), or `nil` (`strict`).
    package var year: Int?
    /// 1–12 where the date is possible.
    package var month: Int
    /// 1–31 where the date is possible.
    package var day: Int
    /// 0–23 where the time is possible.
    package var hour: Int
    /// 0–59 where the time is possible.
    package var minute: Int
    /// 0–59 where the time is possible.
    package var second: Int

    package init(year: Int?, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
    }

    /// The fields could be a date and a time, 29 February included.
    package var isPossibleInSomeYear: Bool { wall(year: 2000).isPossible }

    func wall(year: Int) -> WallTime {
        WallTime(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    }
}
