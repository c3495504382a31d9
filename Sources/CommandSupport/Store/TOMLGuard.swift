/// What the parser of TOML must not be given.
package enum TOMLGuard {
    /// The parser ends the process where a table's header begins with no name (TOMLKit 0.6, `[[[person]]`): such a line
    /// is found before it. No key of ours holds a list of lists, so no other line begins like that. The number of the
    /// line, from 1.
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

    /// No key of ours has so many parts.
    private static let mostDots = 1000

    /// The parser goes one call deeper for each part of a dotted key, and the stack ends somewhere: a line of so many
    /// dots is found before it. The number of the line, from 1.
    package static func endlessKey(_ text: String) -> Int? {
        text.utf8.split(separator: 10, omittingEmptySubsequences: false).firstIndex { line in
            line.count > mostDots && line.count { $0 == UInt8(ascii: ".") } > mostDots
        }.map { $0 + 1 }
    }
}
