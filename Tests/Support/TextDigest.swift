/// What tells one text from another, short enough for a table in a test. No protection against anybody.
package enum TextDigest {
    /// FNV-1a, 64 bits, of the text's UTF-8, in hexadecimal digits.
    package static func of(_ text: String) -> String {
        String(text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }, radix: 16)
    }
}
