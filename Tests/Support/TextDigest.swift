/// A short checksum of a text for a table in a test. Not cryptographic.
package enum TextDigest {
    /// FNV-1a, 64 bits, of the text's UTF-8, in hexadecimal digits.
    package static func of(_ text: String) -> String {
        String(text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }, radix: 16)
    }
}
