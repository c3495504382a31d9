import Testing
import Emulator

@Suite struct PatternTests {
    @Test(arguments: [
        ("", [UInt8](), true), ("", [1], false), ("*", [], true), ("*", [1, 2], true), ("a5", [0xA5], true),
        ("a5", [0xA5, 0], false),
        ("A5 ?? 01", [0xA5, 7, 1], true), ("A5 ?? 01", [0xA5, 7, 2], false), ("a5*", [0xA5], true),
        ("a5*", [0xA5, 1, 2], true), ("a5*", [], false),
    ])
    func `a byte pattern matches the expected values`(pattern: String, value: [UInt8], expected: Bool) throws {
        #expect(try #require(BytePattern(pattern)).matches(value) == expected)
    }

    @Test(arguments: ["a", "xx", "a?", "*a5", "a5 * 00", "a5?"])
    func `an invalid pattern is rejected`(text: String) { #expect(BytePattern(text) == nil) }

    @Test func `bytes are decoded from and encoded to hex`() {
        #expect(Octets("01 02fF")?.bytes == [1, 2, 255])
        #expect(Octets([1, 2, 255]).description == "0102ff")
        for text in ["0", "0g", "é1"] { #expect(Octets(text) == nil) }
    }
}
