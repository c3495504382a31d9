import Utilities

/// Cells that a spreadsheet displays and does not evaluate (OWASP, "CSV Injection"). A cell that starts with certain
/// characters is a formula. An apostrophe before it makes it text, and the importer removes that apostrophe.
package enum SpreadsheetCell {
    private static let apostrophe = UInt8(ascii: "'")

    /// A text for a cell. Numbers need no escaping.
    package static func escaped(_ text: String) -> String { beginsFormula(text.utf8) ? "'" + text : text }

    /// The inverse of `escaped`.
    package static func unescaped(_ cell: String) -> String {
        let isEscaped = cell.utf8.first == apostrophe && beginsFormula(cell.utf8)
        return isEscaped ? String(Substring(cell.utf8.dropFirst())) : cell
    }

    /// A quoted cell (RFC 4180), for any separator.
    package static func quoted(_ text: String) -> String {
        let text = escaped(text)
        guard text.utf8.contains(where: isSpecial) else { return text }
        return "\"" + Escaping.replacing(text, ["\"": "\"\""]) + "\""
    }

    /// Whether a cell with this character must be quoted. A `switch` is fast, and an export tests every byte.
    private static func isSpecial(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\""), UInt8(ascii: "\t"), UInt8(ascii: "\r"),
            UInt8(ascii: "\n"):
            true
        default: false
        }
    }

    /// Whether the first character after any apostrophes begins a formula.
    private static func beginsFormula(_ text: some Collection<UInt8>) -> Bool {
        guard let first = text.first(where: { $0 != apostrophe }) else { return false }
        return "=+-@\t\r\n".utf8.contains(first)
    }
}
