/// The 13-byte record of the drink log (protocol spec P3):
///
/// ```
///  0     1      2    3     4       5       6  7    8  9   10 11   12
/// +-----+------+----+-----+-------+-------+-------+------+-------+------+
/// | yy  | month| day| hour| minute| second| ml(2) |tds(2)| sensor| flag |
/// +-----+------+----+-----+-------+-------+-------+------+-------+------+
/// ```
///
/// Stored inline in two 64-bit integers, so that decoding does not allocate memory.
package struct DrinkRecord: Hashable, Sendable {
    package static let size = 13
    /// Byte 0 of every record in the strict dialect.
    package static let strictTypeByte: UInt8 = 0x1A

    /// Bytes 0–7, the first one most significant.
    package let head: UInt64
    /// Bytes 8–12 in the lower 40 bits, byte 8 most significant.
    package let tail: UInt64
    package let dialect: RecordDialect
    package let amountWidth: AmountWidth

    /// Decodes the first 13 bytes, and ignores the rest (tracker spec A1-05).
    ///
    /// `calendar` accepts all values; see `isSuspect`. `strict` rejects a byte 0 other than 1A and impossible dates, as
    /// the original requirements do (tracker spec A1-02, A1-11, A1-12).
    package init(
        decoding bytes: some Collection<UInt8>, dialect: RecordDialect = .calendar, amountWidth: AmountWidth? = nil
    ) throws(DecodeFailure) {
        guard bytes.count >= Self.size else { throw Self.incomplete(bytes.count) }
        var head: UInt64 = 0
        var tail: UInt64 = 0
        var index = 0
        for byte in bytes.prefix(Self.size) {
            if index < 8 { head = head << 8 | UInt64(byte) } else { tail = tail << 8 | UInt64(byte) }
            index += 1
        }
        try self.init(checking: head, tail, dialect: dialect, amountWidth: amountWidth ?? AmountWidth(dialect))
    }

    /// Decodes the first 13 bytes in memory. Large captures need this, because the generic function is slow in other
    /// modules.
    package init(decoding bytes: UnsafeRawBufferPointer, dialect: RecordDialect) throws(DecodeFailure) {
        guard bytes.count >= Self.size else { throw Self.incomplete(bytes.count) }
        let head = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
        let tail = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 5, as: UInt64.self)) & 0xFF_FFFF_FFFF
        try self.init(checking: head, tail, dialect: dialect, amountWidth: AmountWidth(dialect))
    }

    private static func incomplete(_ count: Int) -> DecodeFailure {
        DecodeFailure(problem: "a drink record is incomplete", offset: count, needed: size, found: count)
    }

    private init(
        checking head: UInt64, _ tail: UInt64, dialect: RecordDialect, amountWidth: AmountWidth
    ) throws(DecodeFailure) {
        self.init(head: head, tail: tail, dialect: dialect, amountWidth: amountWidth)
        guard dialect == .strict else { return }
        guard yearByte == Int(Self.strictTypeByte) else {
            throw DecodeFailure(
                problem:
                    """
                    byte 0 of a drink record must be 1A (26) in the strict dialect; the calendar dialect reads it \
                    as the year
                    """,
                offset: 0, needed: Int(Self.strictTypeByte), found: yearByte)
        }
        if let invalidField = firstImpossibleField {
            throw DecodeFailure(
                problem: "a drink record's \(invalidField.name) is out of range", offset: invalidField.offset,
                needed: invalidField.limit,
                found: invalidField.value)
        }
    }

    private init(head: UInt64, tail: UInt64, dialect: RecordDialect, amountWidth: AmountWidth) {
        self.head = head
        self.tail = tail
        self.dialect = dialect
        self.amountWidth = amountWidth
    }

    /// Creates a record as a bottle does, in the default dialect. Fields are not checked, because dates can be
    /// impossible.
    /// - Parameters:
    ///   - clock: the bottle's clock at the drink.
    ///   - sensor: bytes 10 and 11: 01 and battery percent on a Boost, °C and 00 on a Vita.
    package init(
        clock: BottleClock, amountMl: UInt16, tdsPpm: UInt16 = 0, sensor: (UInt8, UInt8), flag: UInt8 = 0
    ) {
        let head = clock.encoded.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let tail = UInt64(tdsPpm) << 24 | UInt64(sensor.0) << 16 | UInt64(sensor.1) << 8 | UInt64(flag)
        self.init(head: head << 16 | UInt64(amountMl), tail: tail, dialect: .calendar, amountWidth: .u16be)
    }

    /// Decodes consecutive records, except those that the dialect rejects. Ignores an incomplete record at the end.
    package static func all(in bytes: [UInt8], dialect: RecordDialect = .calendar) -> [DrinkRecord] {
        let (span, width) = (bytes.span.bytes, AmountWidth(dialect))
        var records: [DrinkRecord] = []
        records.reserveCapacity(bytes.count / size)
        for start in stride(from: 0, through: bytes.count - size, by: size) {
            let head = UInt64(bigEndian: span.unsafeLoadUnaligned(fromByteOffset: start, as: UInt64.self))
            let middle = UInt32(bigEndian: span.unsafeLoadUnaligned(fromByteOffset: start + 8, as: UInt32.self))
            let tail = UInt64(middle) << 8 | UInt64(bytes[start + 12])
            guard let record = try? DrinkRecord(checking: head, tail, dialect: dialect, amountWidth: width) else {
                continue
            }
            records.append(record)
        }
        return records
    }

    func byte(_ offset: Int) -> UInt8 {
        offset < 8
            ? UInt8(truncatingIfNeeded: head >> (56 - 8 * offset))
            : UInt8(truncatingIfNeeded: tail >> (96 - 8 * offset))
    }

    package var raw: [UInt8] { (0..<Self.size).map(byte) }

    /// Byte 0: year - 2000 (`calendar`), 1A (`strict`).
    package var yearByte: Int { Int(byte(0)) }
    /// 2000 + byte 0 in `calendar`; `nil` in `strict`, where the host's clock supplies the year.
    package var year: Int? { dialect == .calendar ? 2000 + yearByte : nil }
    package var month: Int { Int(byte(1)) }
    package var day: Int { Int(byte(2)) }
    package var hour: Int { Int(byte(3)) }
    package var minute: Int { Int(byte(4)) }
    package var second: Int { Int(byte(5)) }
    /// The amount in millilitres: bytes 6–7, or byte 7, by `amountWidth`.
    package var amountMl: Int { Int(head & (amountWidth == .u16be ? 0xFFFF : 0xFF)) }
    /// Whether byte 6 is not zero although it is a separator (`u8`). Tracker spec A1-10.
    package var separatorNotZero: Bool { amountWidth == .u8 && byte(6) != 0 }
    /// Total dissolved solids in ppm: bytes 8–9. Meaningless on a Boost; see `tdsPpm(model:)`.
    package var tdsPpm: Int { Int(tail >> 24 & 0xFFFF) }
    /// Byte 12: 00 is a drink, any other value a bookkeeping entry.
    package var flag: Int { Int(byte(12)) }
    package var isDrink: Bool { flag == 0 }
}
