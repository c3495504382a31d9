/// Drinks as lines for spreadsheets, programs and databases. No content breaks a line.
package enum DrinkLineFormat: String, Hashable, Sendable, CaseIterable {
    /// Comma-separated values.
    case csv
    /// JSON objects.
    case jsonl
    /// InfluxDB's line protocol.
    case influx

    /// The header line, or an empty text.
    package var header: String {
        self == .csv ? "position,change,startDate,value_ml,uuid,original,zone,day,drinkSource\n" : ""
    }

    package func append(_ line: DrinkLine, to bytes: inout [UInt8]) {
        let drink = line.drink
        let date = HealthFiles.dateText(drink.at, (try? Zone(drink.zone)) ?? .utc)
        switch self {
        case .csv:
            bytes += "\(line.position),\(line.change.rawValue),\(date),\(drink.ml)".utf8
            let texts = [drink.key, line.original ?? "", drink.zone, "\(drink.localDay)", drink.source.rawValue]
            HealthExport.appendCells(texts.map(Self.withoutLineBreaks), to: &bytes)
        case .jsonl:
            bytes += "{\"position\": \(line.position), \"change\": \"\(line.change.rawValue)\"".utf8
            bytes += ", \"startDate\": \"\(date)\", \"value_ml\": \(drink.ml)".utf8
            HealthExport.appendMembers(
                [
                    "uuid": drink.key, "original": line.original, "zone": drink.zone, "day": "\(drink.localDay)",
                    "drinkSource": drink.source.rawValue,
                ], to: &bytes)
            bytes.append(UInt8(ascii: "}"))
        case .influx:
            // The reader adds the tags. A deleted drink becomes 0 ml, because the format cannot delete a point.
            bytes += "drink ml=\(line.change == .deleted ? 0 : drink.ml)i,position=\(line.position)i".utf8
            for (name, text) in [
                ("change", line.change.rawValue), ("uuid", drink.key), ("zone", drink.zone),
                ("day", "\(drink.localDay)"), ("source", drink.source.rawValue),
            ] {
                bytes += ",\(name)=\"".utf8
                for byte in Self.withoutLineBreaks(text).utf8 {
                    if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
                    bytes.append(byte)
                }
                bytes.append(UInt8(ascii: "\""))
            }
            // The time in nanoseconds. The row id distinguishes two drinks at one moment.
            bytes += " \(drink.at.milliseconds * 1_000_000 + line.number % 1_000_000)".utf8
        }
        bytes.append(UInt8(ascii: "\n"))
    }

    private static func withoutLineBreaks(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isBreak) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { isBreak($0) ? "\u{FFFD}" : $0 }))
    }

    private static func isBreak(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 32 || [0x7F, 0x85, 0x2028, 0x2029].contains(scalar.value)
    }
}
