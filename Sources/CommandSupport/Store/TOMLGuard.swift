/// Detects input that crashes the TOML parser.
package enum TOMLGuard {
    /// The line number (from 1) of a table header without a name, for which the parser aborts (TOMLKit 0.6,
    /// `[[[person]]`).
    package static func brokenHeader(_ text: String) -> Int? {
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            var rest = line.utf8.drop { $0 == 32 || $0 == 9 }
            guard rest.first == UInt8(ascii: "[") else { continue }
            rest = rest.dropFirst()
            if rest.first == UInt8(ascii: "[") { rest = rest.dropFirst() }
            rest = rest.drop { $0 == 32 || $0 == 9 }
            guard let byte = rest.first else { return number + 1 }
            let isName =
                byte < 0x80 && (Character(UnicodeScalar(byte)).isLetter || Character(UnicodeScalar(byte)).isNumber)
            guard
                isName
                    || [UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "]")]
                        .contains(byte)
            else { return number + 1 }
        }
        return nil
    }

    /// More than any valid key has.
    private static let mostDots = 1000

    /// The line number (from 1) of a dotted key with too many parts, for which the parser's recursion overflows the
    /// stack.
    package static func endlessKey(_ text: String) -> Int? {
        text.utf8.split(separator: 10, omittingEmptySubsequences: false).firstIndex { line in
            line.count > mostDots && line.count { $0 == UInt8(ascii: ".") } > mostDots
        }.map { $0 + 1 }
    }
}
