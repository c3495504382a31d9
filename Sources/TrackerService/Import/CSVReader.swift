import TrackerCore

/// The drinks of a file of separated values. The first row names the columns; `startDate` and `value_ml` are required.
enum CSVReader {
    private struct Row {
        var cells: [String]
        var line: Int
        var amount: AmountText?
    }

    static func read(_ text: [UInt8], _ deliver: (HealthSample) throws -> Void) throws {
        var file = SeparatedValues(text)
        let names = try file.next()?.cells.map { $0.lowercased() } ?? []
        let columns = Dictionary(zip(names, names.indices), uniquingKeysWith: { first, _ in first })
        guard columns["startdate"] != nil, let amounts = columns["value_ml"] else {
            throw HealthFileError(
                line: 1,
                reason:
                    """
                    The file is not a health file: expected XML, JSON, or CSV whose first line names the columns \
                    startDate and value_ml.
                    """
            )
        }
        var rows: [Row] = []
        while let (cells, line) = try file.next() {
            guard cells != [""] else { continue }
            guard cells.count == names.count else {
                throw HealthFileError(
                    line: line,
                    reason:
                        """
                        It has \(cells.count) columns where the first line has \(names.count). Is the file \
                        truncated?
                        """
                )
            }
            rows.append(Row(cells: cells, line: line, amount: AmountText(cells[amounts])))
        }
        let decimalSign = try decimalSign(rows, amounts)
        for row in rows {
            try deliver(try sample(row, columns, decimalSign, separator: file.separator))
        }
    }

    /// The decimal sign that the amounts of the file use; `nil` if no amount determines it.
    private static func decimalSign(_ rows: [Row], _ column: Int) throws(HealthFileError) -> Character? {
        var known: Character?
        for row in rows {
            guard case .shows(let sign, _) = row.amount else { continue }
            guard known ?? sign == sign else {
                throw HealthFileError(
                    line: row.line,
                    reason: """
                        The decimal sign in \"\(SampleFields.shown(row.cells[column]))\" differs from that of \
                        earlier rows. Use one decimal sign in all amounts.
                        """)
            }
            known = sign
        }
        return known
    }

    private static func sample(_ row: Row, _ columns: [String: Int], _ decimalSign: Character?, separator: UInt8)
        throws(HealthFileError) -> HealthSample
    {
        func cell(_ name: String) -> String { columns[name].map { row.cells[$0] } ?? "" }
        func name(_ column: String) throws(HealthFileError) -> String? {
            try SampleFields.name(SpreadsheetCell.unescaped(cell(column)), column, line: row.line)
        }
        let shown = cell("value_ml")
        var value: Double?
        switch row.amount {
        case nil: break
        case .plain(let number), .shows(_, let number): value = number
        case .either(let sign, let decimal, let thousands):
            // With commas between columns, the default decimal sign is a point.
            guard let decimalSign = decimalSign ?? (separator == UInt8(ascii: ",") && sign == "." ? sign : nil) else {
                throw HealthFileError(
                    line: row.line,
                    reason: """
                        \"\(shown)\" can be \(decimal) ml or \(Int(thousands)) ml, and no other amount in the file \
                        shows which. Write amounts without a thousands separator.
                        """)
            }
            value = sign == decimalSign ? decimal : thousands
        }
        var sample = try SampleFields.sample(date: cell("startdate"), value: value, shown: shown, line: row.line)
        (sample.uuid, sample.sourceName) = (try name("uuid"), try name("source"))
        (sample.original, sample.bottle) = (try name("original"), try name("bottle"))
        sample.raw = try SampleFields.bytes(cell("raw"), line: row.line)
        return sample
    }
}

/// The rows of separated values with quotes (RFC 4180). The last row needs no line break.
struct SeparatedValues {
    let separator: UInt8
    private let text: [UInt8]
    private var index = 0
    private var line: Int

    /// Skips blank lines at the beginning. The separator is the most frequent one of the first row.
    init(_ text: [UInt8]) {
        self.text = text
        index = text.firstIndex { !FileHead.isSpace($0) } ?? text.endIndex
        line = 1 + text[..<index].count { $0 == UInt8(ascii: "\n") }
        let header = text[index...].prefix { $0 != UInt8(ascii: "\n") }
        separator =
            Array(",;\t".utf8).max { left, right in header.count { $0 == left } < header.count { $0 == right } }
            ?? UInt8(ascii: ",")
    }

    /// Returns the next row and the number of its first line; `nil` at the end.
    mutating func next() throws(HealthFileError) -> (cells: [String], line: Int)? {
        guard index < text.endIndex else { return nil }
        let first = line
        var cells: [String] = []
        var cell: [UInt8] = []
        var isQuoted = false
        func endCell() throws(HealthFileError) {
            guard let text = String(validating: cell, as: UTF8.self) else {
                throw HealthFileError(line: first, reason: "The text is not UTF-8. Save the file as UTF-8.")
            }
            cells.append(text)
            cell.removeAll(keepingCapacity: true)
        }
        read: while index < text.endIndex {
            let byte = text[index]
            index += 1
            if byte == UInt8(ascii: "\n") { line += 1 }
            switch byte {
            case UInt8(ascii: "\"") where isQuoted && index < text.endIndex && text[index] == byte:
                cell.append(byte)
                index += 1
            case UInt8(ascii: "\"") where isQuoted || cell.isEmpty: isQuoted.toggle()
            case _ where isQuoted: cell.append(byte)
            case separator: try endCell()
            case UInt8(ascii: "\n"): break read
            case UInt8(ascii: "\r"): break
            default: cell.append(byte)
            }
        }
        guard !isQuoted else {
            throw HealthFileError(line: first, reason: "A quoted field does not end: the file is truncated.")
        }
        try endCell()
        return (cells, first)
    }
}

/// A number in a spreadsheet's notation, where `.` and `,` can be the decimal sign or the thousands separator.
enum AmountText: Equatable {
    /// A number of digits only.
    case plain(Double)
    /// A number whose notation determines the decimal sign, such as `1.25`.
    case shows(decimalSign: Character, Double)
    /// An ambiguous number: `1.200` or `1,200`.
    case either(sign: Character, decimal: Double, thousands: Double)

    /// Parses a number; `nil` if invalid, for example `0x10`, `nan` or `true`.
    init?(_ text: String) {
        guard text.utf8.count <= 40 else { return nil }
        if text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let value = Double(text) {
            self = .plain(value)
            return
        }
        var text = text
        // A space or an apostrophe can only separate thousands.
        let isGap: (Character) -> Bool = { " '\u{2019}\u{A0}\u{202F}".contains($0) }
        let hasGaps = text.contains(where: isGap)
        if hasGaps {
            let integerPart = text.prefix { $0 != "." && $0 != "," }
            guard Self.isGrouped(integerPart.split(omittingEmptySubsequences: false, whereSeparator: isGap)) else {
                return nil
            }
            text = integerPart.filter { !isGap($0) } + text[integerPart.endIndex...]
        }
        guard text.contains(where: \.isNumber), text.utf8.allSatisfy({ "0123456789+-.,eE".utf8.contains($0) }) else {
            return nil
        }
        guard let last = text.lastIndex(where: { $0 == "." || $0 == "," }) else {
            guard let value = Double(text) else { return nil }
            self = .plain(value)
            return
        }
        let (sign, other): (Character, Character) = text[last] == "." ? (".", ",") : (",", ".")
        let groups = text[..<last].split(separator: other, omittingEmptySubsequences: false)
        let ownGroups = text.split(separator: sign, omittingEmptySubsequences: false)
        let thousands = Double(text.replacing(String(sign), with: ""))
        if groups.count == 1, Self.isGrouped(ownGroups), let thousands, !hasGaps {
            let decimal = ownGroups.count == 2 ? Double(text.replacing(",", with: ".")) : nil
            self =
                decimal.map { .either(sign: sign, decimal: $0, thousands: thousands) }
                ?? .shows(decimalSign: other, thousands)
            return
        }
        guard ownGroups.count == 2, groups.count == 1 || Self.isGrouped(groups) && !hasGaps,
            let value = Double(text.replacing(String(other), with: "").replacing(",", with: "."))
        else { return nil }
        self = .shows(decimalSign: sign, value)
    }

    /// Whether these are the groups of a number such as `1.234.567`. The first one must not begin with 0.
    private static func isGrouped(_ groups: [Substring]) -> Bool {
        guard groups.count > 1, let first = groups.first, (1...3).contains(first.count), first.first != "0" else {
            return false
        }
        return groups.dropFirst().allSatisfy { $0.count == 3 }
            && groups.allSatisfy { $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
    }
}
