/// Texts of anybody's within a language: each part is looked for by its Unicode scalars.
///
/// To `String` a sign and a mark that joins with it are one character (U+0600 before `<`, U+0301 behind `"`, `\r\n`),
/// and looking for the sign alone passes that by. Who reads the page, the table or the line goes by scalars or bytes
/// and sees the sign.
package enum Escaping {
    /// The text with each of these parts as something else, one pair after the other.
    package static func replacing(_ text: String, _ pairs: KeyValuePairs<String, String>) -> String {
        var scalars = text.unicodeScalars
        for (part, other) in pairs { scalars = scalars.replacing(part.unicodeScalars, with: other.unicodeScalars) }
        return String(scalars)
    }

    /// As one word of a POSIX shell.
    package static func shellWord(_ text: String) -> String {
        let isPlain = !text.isEmpty && text.utf8.allSatisfy { plainBytes.contains($0) }
        return isPlain ? text : "'" + replacing(text, ["'": "'\\''"]) + "'"
    }

    private static let plainBytes = Set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=,-".utf8)

    /// As text and as an attribute's value in double quotes, of HTML and XML.
    package static func markup(_ text: String) -> String {
        replacing(text, ["&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;"])
    }
}
