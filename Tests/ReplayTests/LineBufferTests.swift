import Replay
import Support
import Testing

@Suite struct LineBufferTests {
    private func text(capacity: Int = 64, _ body: (LineBuffer) -> Void) throws -> String {
        var bytes: [UInt8] = []
        let out = LineBuffer(capacity: capacity) { bytes += $0 }
        body(out)
        try out.flush()
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `JSON strings are escaped and nil is null`() throws {
        #expect(try text { $0.put(json: "a\"b\\c\n\r\t\u{1}é") } == #""a\"b\\c\n\r\t\u0001é""#)
        #expect(try text { $0.put(json: nil as String?) } == "null")
        #expect(try text { $0.put(json: nil as Int?) } == "null")
    }

    @Test func `hex digits are decoded in blocks of any size`() throws {
        var random = SeededGenerator(seed: 7)
        for size in [0, 1, 15, 16, 17, 31, 32, 33, 500] {
            let bytes = (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }
            let expected = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            for capacity in [64, 65, 1000] {
                #expect(try text(capacity: capacity) { $0.put(hex: bytes.span.bytes) } == expected)
                #expect(
                    try text(capacity: capacity) {
                        $0.put(text: "x"); $0.put(hex: bytes)
                    } == "x" + expected)
            }
        }
    }

    @Test func `long text is processed in pieces`() throws {
        let long = String(repeating: "0123456789", count: 50)
        #expect(try text { $0.put(text: long) } == long)
    }

    struct Full: Error {}

    @Test func `flush throws the first error of the sink`() {
        let out = LineBuffer(capacity: 64) { _ in throw Full() }
        for _ in 0..<100 { out.put(text: "0123456789") }
        #expect(throws: Full.self) { try out.flush() }
    }

    @Test(arguments: [
        (Duration.zero, "1970-01-01T00:00:00.000Z"), (.milliseconds(-1), "1969-12-31T23:59:59.999Z"),
        (.seconds(1_770_070_880) + .microseconds(450_999), "2026-02-02T22:21:20.450Z"),
        (.seconds(951_782_399), "2000-02-28T23:59:59.000Z"),
        (.seconds(951_782_400), "2000-02-29T00:00:00.000Z"), (.seconds(-62_167_219_200), "0000-01-01T00:00:00.000Z"),
    ])
    func `times are formatted in UTC`(time: Duration, expected: String) {
        #expect(timestampText(time) == expected)
    }
}
