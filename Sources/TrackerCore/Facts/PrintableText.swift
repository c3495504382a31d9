/// A text that a person gave something as a name, and that terminals and pages show to others.
public enum PrintableText {
    /// Whether a text has 1 to `limit` code points, none of them a control character (C0, DEL, C1), a separator of lines, or one that is not seen and changes what is
    /// (U+202E turns the direction of writing). Joiners and tags, of which emoji and some scripts are made, are text.
    public static func isName(_ text: String, limit: Int) -> Bool { (1...limit).contains(text.unicodeScalars.count) && hasNoControls(text) }

    /// The same without a length.
    public static func hasNoControls(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: false
            case .format: scalar.value == 0x200C || scalar.value == 0x200D || (0xE0020...0xE007F).contains(scalar.value)
            default: true
            }
        }
    }
}
