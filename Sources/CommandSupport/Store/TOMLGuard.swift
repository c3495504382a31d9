/// Finds input that would crash the TOML parser (TOMLKit 0.6).
package enum TOMLGuard {
    /// The line (from 1) of a table header without a name, such as `[[[person]]`; `nil` if there is none.
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

    /// The maximum number of dots in a key, far more than any valid key has.
    private static let maximumDots = 1000

    /// The line (from 1) of a key with too many dots, which overflows the stack of the recursive parser.
    package static func endlessKey(_ text: String) -> Int? {
        text.utf8.split(separator: 10, omittingEmptySubsequences: false).firstIndex { line in
            line.count > maximumDots && line.count { $0 == UInt8(ascii: ".") } > maximumDots
        }.map { $0 + 1 }
    }
}
