/// What may be in a name that a person gives, since terminals and pages show it to others.
package enum PrintableText {
    /// Whether a text has 1 to `limit` code points, and none of them is a control character (C0, DEL, C1), a separator
    /// of lines, a noncharacter (U+FFFE: XML and MQTT refuse it), or an unseen one that changes how the others look
    /// (U+202E turns the direction of writing). The joiners and tags of which emoji and some scripts are made are
    /// allowed; something has to be seen.
    package static func isName(_ text: String, limit: Int) -> Bool {
        (1...limit).contains(text.unicodeScalars.count) && hasNoControls(text)
            && text.unicodeScalars.contains {
                !$0.properties.isWhitespace && !$0.properties.isDefaultIgnorableCodePoint
            }
    }

    /// The same without a length.
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
