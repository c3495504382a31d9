/// Checks names that terminals and pages display.
package enum PrintableText {
    /// Whether a text has 1 to `limit` code points without control characters (C0, DEL, C1), line separators,
    /// noncharacters (U+FFFE: XML and MQTT reject it) and invisible characters that change the display (U+202E reverses
    /// the direction). Joiners and tags of emoji and scripts are allowed. At least one code point must be visible.
    package static func isName(_ text: String, limit: Int) -> Bool {
        (1...limit).contains(text.unicodeScalars.count) && hasNoControls(text)
            && text.unicodeScalars.contains {
                !$0.properties.isWhitespace && !$0.properties.isDefaultIgnorableCodePoint
            }
    }

    /// Whether a text of any length has only characters that `isName` allows.
    package static func hasNoControls(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { scalar in
            guard !scalar.properties.isNoncharacterCodePoint else { return false }
            return switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: false
            case .format: scalar.value == 0x200C || scalar.value == 0x200D || (0xE0020...0xE007F).contains(scalar.value)
            default: true
            }
        }
    }
}
