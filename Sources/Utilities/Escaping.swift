/// Escapes untrusted text for a shell, HTML or XML, by Unicode scalars.
///
/// `String` compares characters: a sign joined with a combining mark (U+0600 before `<`, U+0301 after `"`, `\r\n`) is
/// another character than the sign alone. Browsers and shells read scalars or bytes.
package enum Escaping {
    /// Replaces each part of a pair, one pair at a time.
    package static func replacing(_ text: String, _ pairs: KeyValuePairs<String, String>) -> String {
        var scalars = text.unicodeScalars
        for (part, other) in pairs { scalars = scalars.replacing(part.unicodeScalars, with: other.unicodeScalars) }
        return String(scalars)
    }

    /// Quotes the text as one word of a POSIX shell.
    package static func shellWord(_ text: String) -> String {
        let isPlain = !text.isEmpty && text.utf8.allSatisfy { plainBytes.contains($0) }
        return isPlain ? text : "'" + replacing(text, ["'": "'\\''"]) + "'"
    }

    private static let plainBytes = Set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=,-".utf8)

    /// Escapes the text for HTML and XML, also in attribute values with double quotes.
    package static func markup(_ text: String) -> String {
        replacing(text, ["&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;"])
    }
}
