import Utilities

/// Cells that spreadsheets show and do not run. What begins with one of a few characters is a formula to them, whoever
/// wrote it, and a name or a key may come from anybody: an apostrophe before it makes it a text (OWASP, "CSV
/// Injection"). Our own reader takes that apostrophe away, so that a file that we wrote comes back as it was.
package enum SpreadsheetCell {
    private static let apostrophe = UInt8(ascii: "'")

    /// A text for a cell. Numbers of ours need none of this: they stay numbers.
    package static func shown(_ text: String) -> String { beginsFormula(text.utf8) ? "'" + text : text }

    /// What stood there before `shown`.
    package static func read(_ cell: some Collection<UInt8>) -> String {
        let isShown = cell.first == apostrophe && beginsFormula(cell)
        return String(decoding: isShown ? cell.dropFirst() : cell.dropFirst(0), as: UTF8.self)
    }

    /// A cell as a row has it (RFC 4180), whatever separates the row's cells.
    package static func row(_ text: String) -> String {
        let text = shown(text)
        guard text.utf8.contains(where: { ",;\"\t\r\n".utf8.contains($0) }) else { return text }
        return "\"" + Escaping.replacing(text, ["\"": "\"\""]) + "\""
    }

    /// Behind apostrophes, too: each of them stands for itself then.
    private static func beginsFormula(_ text: some Collection<UInt8>) -> Bool {
        guard let first = text.first(where: { $0 != apostrophe }) else { return false }
        return "=+-@\t\r\n".utf8.contains(first)
    }
}
