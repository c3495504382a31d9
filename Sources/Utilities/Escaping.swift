/// Escapes untrusted text for a shell, HTML or XML.
///
/// Works on Unicode scalars, as browsers and shells do: a `Character` can join a sign with a combining mark (U+0301
/// after `"`) and then differs from the sign.
package enum Escaping {
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
