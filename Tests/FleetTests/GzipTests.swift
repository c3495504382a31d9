import Packing
import Testing

@Suite("gzip within limits")
struct GzipTests {
    @Test(arguments: [0, 1, 1000, 300_000]) func whatIsPackedIsUnpackedAgain(length: Int) throws {
        let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3) }
        let packed = try Gzip.pack(bytes)
        #expect(packed.starts(with: [0x1F, 0x8B]) && (length < 100_000 || packed.count < length))
        #expect(try Gzip.unpack(packed, limit: max(1, length)) == bytes)
    }

    @Test func aBombIsLongerThanTheLimit() throws {
        let packed = try Gzip.pack([UInt8](repeating: 32, count: 20 << 20))
        #expect(packed.count < 200_000)
        #expect(throws: Gzip.Failure.tooLong(1 << 20)) { try Gzip.unpack(packed, limit: 1 << 20) }
    }

    @Test func whatIsCutOrNoneIsToldInWords() throws {
        let packed = try Gzip.pack(Array("a batch of drinks, and another one".utf8))
        for end in 0..<packed.count {
            let failure = #expect(throws: Gzip.Failure.self) { try Gzip.unpack(Array(packed[..<end]), limit: 1000) }
            if end > 20 { #expect(failure == .broken("it is cut")) }
        }
        #expect(throws: Gzip.Failure.broken("something follows it")) { try Gzip.unpack(packed + [0], limit: 1000) }
        #expect(throws: Gzip.Failure.self) { try Gzip.unpack(Array("no gzip at all".utf8), limit: 1000) }
        var other = packed
        other[other.count - 5] ^= 1
        #expect(throws: Gzip.Failure.self) { try Gzip.unpack(other, limit: 1000) }
    }
}
