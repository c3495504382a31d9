import BottleProtocol
import Support
import Testing

@Suite struct RecordTests {
    /// A row of `records` in `Tests/Vectors/protocol.json`; `nil`: the dialect rejects the bytes.
    struct Vector: Decodable, Sendable, CustomTestStringConvertible {
        struct Strict: Decodable, Equatable, Sendable {
            var month: Int, day: Int, hour: Int, minute: Int, second: Int, ml: Int
            var byte6Ignored: Bool
        }
        struct Calendar: Decodable, Equatable, Sendable {
            var year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int, ml: Int
            var suspect: Bool
        }
        let id: String
        let bytes: String
        let strict: Strict?
        let calendar: Calendar?
        var testDescription: String { "\(id) \(bytes)" }
    }

    @Test(arguments: try testVectors("records", in: "protocol.json") as [Vector])
    func `both dialects decode and reject the records of the test vectors`(_ vector: Vector) {
        let bytes = hex(vector.bytes)
        let strict = try? DrinkRecord(decoding: bytes, dialect: .strict)
        #expect(
            strict.map {
                .init(
                    month: $0.month, day: $0.day, hour: $0.hour, minute: $0.minute, second: $0.second,
                    ml: $0.amountMl, byte6Ignored: $0.separatorNotZero)
            } == vector.strict)
        if let strict { #expect(strict.year == nil && strict.raw == Array(bytes.prefix(13))) }
        // A slice counts from its own start.
        #expect((try? DrinkRecord(decoding: ([0x1A, 0x1A] + bytes).dropFirst(2), dialect: .strict)) == strict)

        let calendar = try? DrinkRecord(decoding: bytes)
        #expect(
            calendar.map {
                .init(
                    year: $0.year ?? 0, month: $0.month, day: $0.day, hour: $0.hour, minute: $0.minute,
                    second: $0.second, ml: $0.amountMl, suspect: $0.isSuspect)
            } == vector.calendar)
        if let calendar {
            #expect(calendar.isSuspect == (calendar.suspectReason != nil))
            #expect(calendar.isDrink && !calendar.separatorNotZero)
        }
    }

    @Test func `the verified sample is 2026-02-02 22:21:15, 16 ml`() throws {
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

    @Test func `a Vita record has temperature, TDS and flag`() throws {
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
        let error = #expect(throws: DecodeFailure.self) { try DrinkRecord(decoding: bytes, dialect: .strict) }
        #expect(error?.needed == 0x1A && error?.found == Int(byte) && error?.offset == 0)
    }

    @Test func `the amount width can override the dialect`() throws {
        let bytes = hex("1A 02 02 16 15 0F 01 F4 00 00 01 61 00")
        #expect(try DrinkRecord(decoding: bytes, dialect: .strict, amountWidth: .u16be).amountMl == 500)
        #expect(try DrinkRecord(decoding: bytes, dialect: .calendar, amountWidth: .u8).amountMl == 244)
    }

    @Test func `truncated records are rejected`() {
        let bytes = hex("1A 02 02 16 15 0F 00 10 00 00 01 61 00")
        for count in 0..<13 {
            let error = #expect(throws: DecodeFailure.self) { try DrinkRecord(decoding: bytes.prefix(count)) }
            #expect(error?.needed == 13 && error?.found == count)
        }
    }

    @Test func `decoding keeps any 13 bytes`() {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<2_000 {
            let bytes = (0..<Int.random(in: 0...80, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            #expect(DrinkRecord.all(in: bytes).flatMap(\.raw) == Array(bytes.prefix(bytes.count / 13 * 13)))
        }
    }
}
