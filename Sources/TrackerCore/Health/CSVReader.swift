/// Rows of comma-separated text with quotes (RFC 4180).
enum CSVReader {
    struct Row {
        /// 1-based, of the row's first character.
        var line: Int
        var fields: [String]
    }

    static func rows(_ text: String) throws(HealthFileError) -> [Row] {
        var rows: [Row] = []
        var fields: [String] = []
        var field = ""
        var isQuoted = false
        var line = 1
        var firstLine = 1
        var scalars = Substring(text).unicodeScalars[...]
        if scalars.first?.value == 0xFEFF { scalars.removeFirst() }
        while let scalar = scalars.popFirst() {
            if scalar == "\n" { line += 1 }
            if isQuoted {
                if scalar != "\"" {
                    field.unicodeScalars.append(scalar)
                } else if scalars.first == "\"" {
                    scalars.removeFirst()
                    field.append("\"")
                } else {
                    isQuoted = false
                }
                continue
            }
            switch scalar {
            case "\"" where field.isEmpty: isQuoted = true
            case ",":
                fields.append(field)
                field = ""
            case "\r": continue
            case "\n":
                rows.append(Row(line: firstLine, fields: fields + [field]))
                (fields, field, firstLine) = ([], "", line)
            default: field.unicodeScalars.append(scalar)
            }
        }
        if isQuoted { throw HealthFileError(line: firstLine, reason: "A quoted field does not end: the file is cut.") }
        guard fields.isEmpty, field.isEmpty else {
            throw HealthFileError(line: firstLine, reason: "The last line does not end with a line break: the file is cut.")
        }
        return rows
    }
}
