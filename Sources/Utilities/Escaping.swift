/// Escapes untrusted text for a shell, HTML or XML.
///
/// It compares Unicode scalars, as browsers and shells do. A `Character` can consist of `"` and a combining mark
/// (U+0301) and would then not be escaped.
package enum Escaping {
    package static func replacing(_ text: String, _ pairs: KeyValuePairs<String, String>) -> String {
        var scalars = text.unicodeScalars
        for (part, other) in pairs { scalars = scalars.replacing(part.unicodeScalars, with: other.unicodeScalars) }
        return String(scalars)
    }

    /// Quotes the text as one word for a POSIX shell.
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
