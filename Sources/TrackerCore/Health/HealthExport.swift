/// The bottle's record of an exported drink. Another store recognises the record when its bottle delivers it.
package struct ExportedRecord: Hashable, Sendable {
    /// The addresses of the bottle, separated by `|`.
    package var bottle: String
    /// The record's wall-clock time; `nil` if its date is invalid.
    package var wall: String?
    /// The bytes of the record in hexadecimal.
    package var raw: String

    package init(bottle: String, wall: String?, raw: [UInt8]) {
        self.bottle = bottle
        self.wall = wall.flatMap(WallTime.init)?.description
        self.raw = WireEntry.hex(raw)
    }
}

/// Writes drinks as files for Apple Health importers, spreadsheets and programs (tracker spec D4): a header, one part
/// per drink, an end. The caller selects and orders the drinks.
package struct HealthExport {
    package let format: HealthFiles.Format
    private var isFirst = true

    package init(_ format: HealthFiles.Format) { self.format = format }

    private static let csvHeader = "startDate,endDate,value_ml,uuid,original,bottle,wall,raw"

    package var header: String {
        switch format {
        case .appleHealth: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<HealthData locale=\"en_US\">\n"
        case .csv: Self.csvHeader + "\n"
        case .json: "["
        }
    }

    package var end: String {
        switch format {
        case .appleHealth: "</HealthData>\n"
        case .csv: ""
        case .json: isFirst ? "]\n" : "\n]\n"
        }
    }

    /// Appends one drink.
    ///
    /// - apple-health: a `Record` under `HealthData`, as in Apple's own export. A key that XML cannot hold is written a
    ///   second time, escaped.
    /// - json: an object with `startDate`, `endDate` (ISO 8601 with offset), `value_ml`, `uuid`, `zone`, `day` and
    ///   `drinkSource`.
    ///
    /// All formats have `original` for a corrected drink, and `bottle`, `wall` and `raw` for a drink from a bottle.
    /// - Parameter original: the key of the drink that the user corrected.
    package mutating func append(
        _ drink: Drink, insteadOf original: String? = nil, record: ExportedRecord? = nil, to bytes: inout [UInt8]
    ) {
        let date = HealthFiles.dateText(drink.at, (try? Zone(drink.zone)) ?? .utc, isISO: format == .json)
        switch format {
        case .appleHealth:
            bytes +=
                """
                 <Record type="\(HealthFiles.waterType)" sourceName="\(HealthFiles.sourceName)" unit="mL" \
                creationDate="\(date)" startDate="\(date)" endDate="\(date)" value="\(drink.ml)">

                """.utf8
            let metadata: KeyValuePairs<String, String?> = [
                "HKExternalUUID": Self.xml(drink.key),
                HealthFiles.escapedKey: Self.isInXML(drink.key) ? nil : HealthFiles.escaped(drink.key),
                HealthFiles.originalKey: original.map(HealthFiles.escaped),
                HealthFiles.bottleKey: record.map { HealthFiles.escaped($0.bottle) },
                HealthFiles.wallKey: record?.wall, HealthFiles.rawKey: record?.raw,
            ]
            for case (let key, let value?) in metadata {
                bytes += "  <MetadataEntry key=\"\(key)\" value=\"\(value)\"/>\n".utf8
            }
            bytes += " </Record>\n".utf8
        case .csv:
            bytes += "\(date),\(date),\(drink.ml)".utf8
            Self.appendCells([drink.key, original, record?.bottle, record?.wall, record?.raw], to: &bytes)
            bytes.append(UInt8(ascii: "\n"))
        case .json:
            bytes += (isFirst ? "\n  " : ",\n  ").utf8
            bytes += "{\"startDate\": \"\(date)\", \"endDate\": \"\(date)\", \"value_ml\": \(drink.ml)".utf8
            Self.appendMembers(
                [
                    "uuid": drink.key, "zone": drink.zone, "day": "\(drink.localDay)",
                    "drinkSource": drink.source.rawValue, "original": original, "bottle": record?.bottle,
                    "wall": record?.wall, "raw": record?.raw,
                ], to: &bytes)
            bytes.append(UInt8(ascii: "}"))
        }
        isFirst = false
    }

    /// A file of the counted drinks, oldest first.
    package static func text(_ format: HealthFiles.Format, _ drinks: [Drink]) -> String {
        var export = HealthExport(format)
        var bytes = Array(export.header.utf8)
        for drink in drinks.filter(\.counts).sorted(by: Drink.isEarlier) { export.append(drink, to: &bytes) }
        return String(decoding: bytes, as: UTF8.self) + export.end
    }

    // MARK: - Helpers

    /// XML 1.0 allows no other control characters and no noncharacters, not even as numeric references.
    private static func isInXML(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value >= 32
            ? scalar.value != 0xFFFE && scalar.value != 0xFFFF : scalar == "\t" || scalar == "\n" || scalar == "\r"
    }

    private static func isInXML(_ text: String) -> Bool { text.unicodeScalars.allSatisfy(isInXML) }

    private static func xml(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "\t", "\n", "\r": result += "&#\(scalar.value);"
            case _ where !isInXML(scalar): result += "\u{FFFD}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Appends further cells of a CSV line.
    static func appendCells(_ cells: [String?], to bytes: inout [UInt8]) {
        for cell in cells { bytes += ("," + SpreadsheetCell.quoted(cell ?? "")).utf8 }
    }

    /// Appends further members of a JSON object, without those that are `nil`.
    static func appendMembers(_ members: KeyValuePairs<String, String?>, to bytes: inout [UInt8]) {
        for case (let name, let text?) in members {
            bytes += ", \"\(name)\": ".utf8
            appendJSON(text, to: &bytes)
        }
    }

    private static func appendJSON(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0..<32: bytes += "\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
