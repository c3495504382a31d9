import BottleProtocol
import Support
import Testing

@Suite struct RecordTests {
    struct Vector: Sendable, CustomTestStringConvertible {
        let id: String
        let bytes: String
        /// month, day, hour, minute, second, ml; `nil`: rejected.
        let fields: [Int]?
        var testDescription: String { "\(id) \(bytes)" }
        init(_ id: String, _ bytes: String, _ fields: [Int]?) {
            self.id = id
            self.bytes = bytes
            self.fields = fields
        }
    }

    static let strict: [Vector] = [
        Vector("A1-01", "1A 02 02 16 15 0F 00 10 00 00 01 61 00", [2, 2, 22, 21, 15, 16]),
        Vector("A1-02", "1B 02 02 16 15 0F 00 10 00 00 01 61 00", nil),
        Vector("A1-03", "1A 02 02", nil),
        Vector("A1-04", "1A 02 02 16 15 0F 00 10 00 00 01 61", nil),
        Vector("A1-05", "1A 02 02 16 15 0F 00 10 00 00 01 61 00 FF FF", [2, 2, 22, 21, 15, 16]),
        Vector("A1-06", "1A 02 03 10 00 00 00 64 00 00 01 61 00", [2, 3, 16, 0, 0, 100]),
        Vector("A1-07", "1A 02 03 11 00 00 00 C8 00 00 01 61 00", [2, 3, 17, 0, 0, 200]),
        Vector("A1-08", "1A 02 1D 00 00 00 00 FF 00 00 01 61 00", [2, 29, 0, 0, 0, 255]),
        Vector("A1-09", "1A 02 02 16 15 0F 00 00 00 00 01 61 00", [2, 2, 22, 21, 15, 0]),
        Vector("A1-10", "1A 02 02 16 15 0F 01 F4 00 00 01 61 00", [2, 2, 22, 21, 15, 244]),
        Vector("A1-11", "1A 0D 02 16 15 0F 00 10 00 00 01 61 00", nil),
        Vector("A1-12 month 00", "1A 00 02 16 15 0F 00 10 00 00 01 61 00", nil),
        Vector("A1-12 day 00", "1A 02 00 16 15 0F 00 10 00 00 01 61 00", nil),
        Vector("A1-12 30 Feb", "1A 02 1E 16 15 0F 00 10 00 00 01 61 00", nil),
        Vector("A1-12 31 Apr", "1A 04 1F 16 15 0F 00 10 00 00 01 61 00", nil),
        Vector("A1-12 hour 18", "1A 02 02 18 15 0F 00 10 00 00 01 61 00", nil),
        Vector("A1-12 minute 3C", "1A 02 02 16 3C 0F 00 10 00 00 01 61 00", nil),
        Vector("A1-12 second 3C", "1A 02 02 16 15 3C 00 10 00 00 01 61 00", nil),
    ]

    @Test(arguments: strict)
    func `the strict dialect decodes and rejects records`(_ vector: Vector) {
        let record = try? DrinkRecord(decoding: hex(vector.bytes), dialect: .strict)
        #expect(
            record.map { [$0.month, $0.day, $0.hour, $0.minute, $0.second, $0.amountMl] } == vector.fields,
            "\(vector.id)")
        #expect(record?.separatorNotZero ?? (vector.id == "A1-10") == (vector.id == "A1-10"), "\(vector.id)")
        if let record { #expect(record.year == nil && record.raw == Array(hex(vector.bytes).prefix(13))) }
    }

    /// The calendar dialect rejects only bytes that are too short and marks the others as suspect.
    @Test(arguments: strict)
    func `the calendar dialect decodes all records`(_ vector: Vector) throws {
        let bytes = hex(vector.bytes)
        guard bytes.count >= 13 else {
            #expect(throws: DecodeFailure.self) { try DrinkRecord(decoding: bytes) }
            return
        }
        let record = try DrinkRecord(decoding: bytes)
        #expect(record.year == 2000 + Int(bytes[0]))
        #expect(record.amountMl == Int(bytes[6]) << 8 | Int(bytes[7]))
        // 2026 is not a leap year, so 29 February (A1-08) is invalid.
        #expect(
            record.isSuspect == (vector.id == "A1-08" || (vector.fields == nil && vector.id != "A1-02")), "\(vector.id)"
        )
        #expect(record.isSuspect == (record.suspectReason != nil))
        #expect(record.isDrink && !record.separatorNotZero)
    }

    @Test
    func `the verified sample is 2026-02-02 22:21:15, 16 ml`() throws {
        let record = try DrinkRecord(decoding: hex("1A 02 02 16 15 0F 00 10 00 00 01 61 00"))
        #expect(
            [record.year, record.month, record.day, record.hour, record.minute, record.second] == [
                2026, 2, 2, 22, 21, 15,
            ])
        #expect(record.amountMl == 16 && record.tdsPpm == 0 && record.flag == 0 && !record.isSuspect)
        #expect(
            record.batteryPercent(.boost) == 97 && record.batteryPercent(.vita) == nil
                && record.batteryPercent(nil) == nil)
        #expect(
            record.temperatureC(.boost) == nil && record.temperatureC(nil) == nil && record.temperatureC(.vita) == 1)
        #expect(record.tdsPpm(model: .vita) == 0 && record.tdsPpm(model: .boost) == nil)
    }

    @Test
    func `a Vita record has temperature, TDS and flag`() throws {
        let record = try DrinkRecord(decoding: hex("1A 07 01 0C 00 00 01 F4 00 D2 F6 00 03"))
        #expect(
            record.temperatureC(.vita) == -10 && record.tdsPpm(model: .vita) == 210
                && record.batteryPercent(.boost) == nil)
        #expect(record.amountMl == 500 && record.flag == 3 && !record.isDrink)
    }

    @Test(arguments: [(0x0E, false), (0x0F, true), (0x1B, true), (0x63, true), (0x64, false)])
    func `byte 0 = 1B is 2027 in the calendar dialect, and years outside 2015–2099 are implausible`(
        _ byte: UInt8, _ plausible: Bool
    ) throws {
        var bytes = hex("1A 02 02 16 15 0F 00 10 00 00 01 61 00")
        bytes[0] = byte
        let record = try DrinkRecord(decoding: bytes)
        #expect(record.year == 2000 + Int(byte) && record.isSuspect == !plausible)
        do {
            _ = try DrinkRecord(decoding: bytes, dialect: .strict)
            Issue.record("strict accepted byte 0 = \(byte)")
        } catch {
            #expect(error.needed == 0x1A && error.found == Int(byte) && error.offset == 0)
        }
    }

    @Test
    func `the amount width can override the dialect`() throws {
        let bytes = hex("1A 02 02 16 15 0F 01 F4 00 00 01 61 00")
        #expect(try DrinkRecord(decoding: bytes, dialect: .strict, amountWidth: .u16be).amountMl == 500)
        #expect(try DrinkRecord(decoding: bytes, dialect: .calendar, amountWidth: .u8).amountMl == 244)
    }

    @Test
    func `a record decodes from a slice, and truncated records are rejected`() throws {
        let bytes = hex("1A 02 02 16 15 0F 00 10 00 00 01 61 00")
        let padded = [0xFF, 0xFF, 0xFF] + bytes
        #expect(try DrinkRecord(decoding: padded[3...]).raw == bytes)
        for count in 0..<13 {
            do {
                _ = try DrinkRecord(decoding: bytes.prefix(count))
                Issue.record("accepted \(count) bytes")
            } catch {
                #expect(error.needed == 13 && error.found == count)
            }
        }
    }

    @Test
    func `any 13 bytes are kept by decoding`() {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<2_000 {
            let bytes = (0..<Int.random(in: 0...80, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            #expect(DrinkRecord.all(in: bytes).flatMap(\.raw) == Array(bytes.prefix(bytes.count / 13 * 13)))
        }
    }

    /// Packets of the original requirements (tracker spec A1), with the amounts of their records.
    static let packets: [(String, String, [Int])] = [
        ("header + A1-01", "50 54 00 0F 0E 06 1A 02 02 16 15 0F 00 10 00 00 01 61 00", [16]),
        (
            "header + (A1-02, A1-06)",
            "50 54 00 0F 0E 06 1B 02 02 16 15 0F 00 10 00 00 01 61 00 1A 02 03 10 00 00 00 64 00 00 01 61 00", [100]
        ),
        (
            "header + A1-01 + 12 bytes",
            "50 54 00 0F 0E 06 1A 02 02 16 15 0F 00 10 00 00 01 61 00 1A 02 02 16 15 0F 00 10 00 00 01 61", [16]
        ),
        ("50 54 00 00 00", "50 54 00 00 00", []),
        ("52 54 …", "52 54 00 0F 0E 06 1A 02 02 16 15 0F 00 10 00 00 01 61 00", []),
    ]

    /// The length fields of these packets include all their bytes.
    @Test(arguments: packets)
    func `the assembler decodes the A1 test vectors`(_ name: String, _ bytes: String, _ amounts: [Int]) {
        var assembler = LogAssembler()
        let transfers = (assembler.receive(hex(bytes)) + assembler.finish()).compactMap(\.transfer)
        #expect(transfers.flatMap { $0.records(dialect: .strict).map(\.amountMl) } == amounts, "\(name)")
    }
}
