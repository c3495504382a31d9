import TrackerCore

/// Reads separated values with quotes (RFC 4180). The header names the columns; `startDate` and `value_ml` are
/// required. The last line needs no line break.
final class CSVReader: FormatReader {
    /// The maximum length of a row in bytes.
    private static let rowLimit = 1 << 20

    private let header: Header
    private let deliver: (HealthSample) throws -> Void
    private var fields = RowBuffer()
    /// The current line number, from 1.
    private var line: Int
    private var rowLine: Int
    /// The decimal sign `.` or `,`; `nil` until a number of the file determines it.
    private var decimalSign: UInt8?
    /// Rows with an ambiguous number, until another row determines the decimal sign.
    private var undecided: [Undecided] = []
    private static let mostUndecided = 100_000

    private struct Undecided {
        var sample: HealthSample
        var line: Int
        var text: String
        var sign: UInt8
        var decimal: Double
        var thousands: Double
    }

    init(_ header: Header, line: Int, deliver: @escaping (HealthSample) throws -> Void) {
        self.header = header
        self.deliver = deliver
        self.line = line + 1
        rowLine = line + 1
    }

    func feed(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes
        while !rest.isEmpty {
            let isRow = fields.take(&rest, separator: header.separator)
            line += fields.countLineBreaks()
            if isRow { try row() }
        }
        guard fields.count <= Self.rowLimit else {
            throw HealthFileError(
                line: rowLine,
                reason: "It is longer than \(Self.rowLimit >> 20) MB: a quoted field does not end, or this is not CSV.")
        }
    }

    func finish() throws {
        if fields.isQuoted {
            throw HealthFileError(line: rowLine, reason: "A quoted field does not end: the file is truncated.")
        }
        if !fields.isEmpty {
            fields.endField()
            try row()
        }
        try decide()
    }

    private func row() throws {
        defer {
            fields.clear()
            rowLine = line
        }
        try fields.withFields { fields in
            if fields.count == 1, fields[0].isEmpty { return }
            guard fields.count == header.columns.count else {
                throw HealthFileError(
                    line: rowLine,
                    reason:
                        """
                        It has \(fields.count) columns where the first line has \(header.columns.count). Is the \
                        file truncated?
                        """
                )
            }
            guard fields.allSatisfy(Self.isText) else {
                throw HealthFileError(line: rowLine, reason: "It is not text in UTF-8. Save the file as UTF-8.")
            }
            let value = fields[header.value], amount = AmountText(value)
            var sample = try SampleFields.sample(
                date: fields[header.date], value: amount?.value(decimalSign), shown: value, line: rowLine)
            sample.uuid = try header.uuid.flatMap { try SampleFields.name(cell: fields[$0], "uuid", line: rowLine) }
            sample.sourceName = try header.source.flatMap {
                try SampleFields.name(cell: fields[$0], "source", line: rowLine)
            }
            sample.original = try header.original.flatMap {
                try SampleFields.name(cell: fields[$0], "original", line: rowLine)
            }
            sample.bottle = try header.bottle.flatMap {
                try SampleFields.name(cell: fields[$0], "bottle", line: rowLine)
            }
            sample.raw = try header.raw.flatMap {
                try SampleFields.bytes(String(decoding: fields[$0], as: UTF8.self), line: rowLine)
            }
            switch amount {
            case .shows(let sign, _) where decimalSign == nil:
                decimalSign = sign
                try decide()
            case .shows(let sign, _) where decimalSign != sign:
                throw HealthFileError(
                    line: rowLine,
                    reason: """
                        The decimal sign in \"\(SampleFields.shown(value))\" differs from the rows before. Use one \
                        decimal sign in all amounts.
                        """)
            case .either(let sign, let decimal, let thousands) where decimalSign == nil:
                undecided.append(
                    Undecided(
                        sample: sample, line: rowLine, text: SampleFields.shown(value), sign: sign, decimal: decimal,
                        thousands: thousands))
                if undecided.count >= Self.mostUndecided { try decide() }
                return
            default: break
            }
            try deliver(sample)
        }
    }

    /// Delivers the rows with an ambiguous number. With commas between columns, the default decimal sign is a point.
    private func decide() throws {
        for var row in undecided {
            guard
                let decimalSign = decimalSign
                    ?? (header.separator == UInt8(ascii: ",") && row.sign == UInt8(ascii: ".") ? row.sign : nil)
            else {
                throw HealthFileError(
                    line: row.line,
                    reason: """
                        \"\(row.text)\" can be \(row.decimal) ml or \(Int(row.thousands)) ml, and no other amount \
                        in the file shows which. Write amounts without a thousands separator.
                        """)
            }
            guard let ml = HealthFiles.amount(row.sign == decimalSign ? row.decimal : row.thousands, unit: "mL") else {
                throw HealthFileError(line: row.line, reason: "\"\(row.text)\" is not an amount of water.")
            }
            row.sample.ml = ml
            try deliver(row.sample)
        }
        undecided = []
    }

    /// Whether a field is valid text. A fast path for ASCII without a `String`.
    private static func isText(_ field: UnsafeRawBufferPointer) -> Bool {
        field.allSatisfy { $0 < 0x80 } || String(validating: field, as: UTF8.self) != nil
    }

    /// The header: the separator, and the meaning of each column.
    struct Header {
        var separator: UInt8
        var columns: [String]
        var date: Int
        var value: Int
        var uuid: Int?
        var source: Int?
        var original: Int?
        var bottle: Int?
        var raw: Int?
        /// The length in bytes, with the line break.
        var length: Int

        /// Parses a header line; `nil` if the line is incomplete.
        init?(_ head: ArraySlice<UInt8>, isLast: Bool) throws(HealthFileError) {
            let end = head.firstIndex(of: UInt8(ascii: "\n"))
            if end == nil, !isLast, head.count < 10_000 { return nil }
            let text = head[..<(end ?? head.endIndex)].prefix(10_000)
            let separator =
                Array(",;\t".utf8).max { left, right in text.count { $0 == left } < text.count { $0 == right } }
                ?? UInt8(ascii: ",")
            self.separator = separator
            var row = RowBuffer()
            Array(text).withUnsafeBytes { bytes in
                var rest = bytes
                while !rest.isEmpty { _ = row.take(&rest, separator: separator) }
            }
            row.endField()
            columns = row.withFields { $0.map { String(decoding: $0, as: UTF8.self).lowercased() } }
            guard let date = columns.firstIndex(of: "startdate"), let value = columns.firstIndex(of: "value_ml") else {
                throw HealthFileError(
                    line: 1,
                    reason:
                        """
                        This is not a health file: expected XML, JSON, or CSV with a line of column names such as \
                        \(HealthExport.csvHeader).
                        """
                )
            }
            (self.date, self.value) = (date, value)
            uuid = columns.firstIndex(of: "uuid")
            source = columns.firstIndex(of: "source")
            (original, bottle, raw) = (
                columns.firstIndex(of: "original"), columns.firstIndex(of: "bottle"), columns.firstIndex(of: "raw")
            )
            length = (end.map { $0 + 1 } ?? head.endIndex) - head.startIndex
        }
    }
}

/// The concatenated bytes of a row's fields.
private struct RowBuffer {
    private var bytes: [UInt8] = []
    private var ends: [Int] = []
    private(set) var isQuoted = false
    /// Whether the last byte was a quote in a quoted field: the field ends unless another quote follows.
    private var isQuoteOpen = false
    private var hasContent = false

    var isEmpty: Bool { !hasContent }
    var count: Int { bytes.count + ends.count }

    /// The number of line breaks since the last count, including those in quotes.
    private var lineBreaks = 0

    /// Consumes bytes up to the end of a row, plain ones as a block.
    /// - Returns: whether the row ends where `rest` now begins.
    mutating func take(_ rest: inout UnsafeRawBufferPointer, separator: UInt8) -> Bool {
        while !rest.isEmpty {
            let run = rest.prefix {
                isQuoted ? $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\n") : isPlain($0, separator)
            }
            if !run.isEmpty {
                bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: run))
                if !isQuoted { (isQuoteOpen, hasContent) = (false, true) }
            }
            guard run.endIndex < rest.endIndex else {
                rest = UnsafeRawBufferPointer(rebasing: rest[rest.endIndex...])
                return false
            }
            let byte = rest[run.endIndex]
            rest = UnsafeRawBufferPointer(rebasing: rest[(run.endIndex + 1)...])
            if take(byte, separator) { return true }
        }
        return false
    }

    private func isPlain(_ byte: UInt8, _ separator: UInt8) -> Bool {
        byte != separator && byte != UInt8(ascii: "\n") && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\r")
    }

    mutating func countLineBreaks() -> Int {
        defer { lineBreaks = 0 }
        return lineBreaks
    }

    /// Adds a byte. Returns whether the row ends at this byte.
    private mutating func take(_ byte: UInt8, _ separator: UInt8) -> Bool {
        if byte == UInt8(ascii: "\n") { lineBreaks += 1 }
        if isQuoted {
            if byte == UInt8(ascii: "\"") {
                isQuoted = false
                isQuoteOpen = true
            } else {
                bytes.append(byte)
            }
            return false
        }
        switch byte {
        case UInt8(ascii: "\n"):
            endField()
            return true
        case separator: endField()
        case UInt8(ascii: "\"") where isQuoteOpen:
            bytes.append(byte)
            isQuoted = true
        case UInt8(ascii: "\"") where bytes.count == ends.last ?? 0: isQuoted = true
        case UInt8(ascii: "\r"): return false
        default: bytes.append(byte)
        }
        isQuoteOpen = false
        hasContent = true
        return false
    }

    mutating func endField() {
        ends.append(bytes.count)
        isQuoteOpen = false
    }

    mutating func clear() {
        bytes.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        hasContent = false
    }

    func withFields<Result>(_ body: ([UnsafeRawBufferPointer]) throws -> Result) rethrows -> Result {
        try bytes.withUnsafeBytes { all in
            var start = 0
            return try body(
                ends.map { end in
                    defer { start = end }
                    return UnsafeRawBufferPointer(rebasing: all[start..<end])
                })
        }
    }
}

/// A number from a spreadsheet. `.` and `,` can be the decimal sign or the thousands separator.
enum AmountText: Equatable {
    /// Digits only.
    case plain(Double)
    /// The number determines the decimal sign.
    case shows(decimalSign: UInt8, Double)
    /// An ambiguous number: `1.200` or `1,200`.
    case either(sign: UInt8, decimal: Double, thousands: Double)

    /// Parses a number; `nil` if invalid, for example `0x10`, `nan` or `true`.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count <= 40 else { return nil }
        var text = String(decoding: bytes, as: UTF8.self)
        // A space or an apostrophe can only separate thousands.
        let isGap: (Character) -> Bool = { " '\u{2019}\u{A0}\u{202F}".contains($0) }
        let hasGaps = text.contains(where: isGap)
        if hasGaps {
            let whole = text.prefix { $0 != "." && $0 != "," }
            guard Self.isGrouped(whole.split(omittingEmptySubsequences: false, whereSeparator: isGap)) else {
                return nil
            }
            text = whole.filter { !isGap($0) } + text[whole.endIndex...]
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
                decimal.map { .either(sign: sign.asciiValue ?? 0, decimal: $0, thousands: thousands) }
                ?? .shows(decimalSign: other.asciiValue ?? 0, thousands)
            return
        }
        guard ownGroups.count == 2, groups.count == 1 || Self.isGrouped(groups) && !hasGaps,
            let value = Double(text.replacing(String(other), with: "").replacing(",", with: "."))
        else { return nil }
        self = .shows(decimalSign: sign.asciiValue ?? 0, value)
    }

    /// - Parameter decimalSign: the sign of the file; `nil` if unknown.
    func value(_ decimalSign: UInt8?) -> Double {
        switch self {
        case .plain(let value), .shows(_, let value): value
        case .either(let sign, let decimal, let thousands): sign == decimalSign ?? sign ? decimal : thousands
        }
    }

    /// `1.234.567`: groups of three digits after a first group that does not begin with 0.
    private static func isGrouped(_ groups: [Substring]) -> Bool {
        guard groups.count > 1, let first = groups.first, (1...3).contains(first.count), first.first != "0" else {
            return false
        }
        return groups.dropFirst().allSatisfy { $0.count == 3 }
            && groups.allSatisfy { $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
    }
}
