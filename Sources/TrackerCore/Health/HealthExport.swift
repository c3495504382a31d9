/// Drinks as files that Apple Health importers, spreadsheets and programs read (`tracker.md` D4). Only drinks that
/// count are written, oldest first.
public enum HealthExport {
    /// One `Record` a drink under `HealthData`, as Apple's own export writes them.
    public static func appleHealth(_ drinks: [Drink]) -> String {
        var zones = HealthFiles.Zones()
        var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<HealthData locale=\"en_US\">\n"
        for drink in counted(drinks) { text += record(drink, zones(drink.zone)) }
        return text + "</HealthData>\n"
    }

    /// One drink's `Record`, for files that grow.
    public static func record(_ drink: Drink) -> String {
        var zones = HealthFiles.Zones()
        return record(drink, zones(drink.zone))
    }

    private static func record(_ drink: Drink, _ zone: Zone) -> String {
        let date = HealthFiles.date(drink.at, zone: zone)
        return """
             <Record type="\(HealthFiles.waterType)" sourceName="\(HealthFiles.sourceName)" unit="mL" creationDate="\(date)" \
            startDate="\(date)" endDate="\(date)" value="\(drink.ml)">
              <MetadataEntry key="HKExternalUUID" value="\(escaped(drink.key))"/>
             </Record>

            """
    }

    /// The first line of our CSV.
    public static let csvHeader = "startDate,endDate,value_ml,uuid"

    /// With a header line; dates as in the XML.
    public static func csv(_ drinks: [Drink]) -> String {
        var zones = HealthFiles.Zones()
        return counted(drinks).reduce(csvHeader + "\n") { text, drink in
            let date = HealthFiles.date(drink.at, zone: zones(drink.zone))
            return text + "\(date),\(date),\(drink.ml),\(quoted(drink.key))\n"
        }
    }

    /// An array of objects: `startDate`, `endDate` (ISO, with offset), `value_ml`, `uuid`, `zone`, `day`, `drinkSource`.
    public static func json(_ drinks: [Drink]) -> String {
        var zones = HealthFiles.Zones()
        let lines = counted(drinks).map { drink in
            let date = isoDate(drink.at, zones(drink.zone))
            return "  {\"startDate\": \(JSONText.string(date)), \"endDate\": \(JSONText.string(date)), \"value_ml\": \(drink.ml), "
                + "\"uuid\": \(JSONText.string(drink.key)), \"zone\": \(JSONText.string(drink.zone)), "
                + "\"day\": \"\(drink.localDay)\", \"drinkSource\": \(JSONText.string(drink.source.rawValue))}"
        }
        return lines.isEmpty ? "[]\n" : "[\n" + lines.joined(separator: ",\n") + "\n]\n"
    }

    private static func counted(_ drinks: [Drink]) -> [Drink] { drinks.filter(\.counts).sorted(by: Drink.isEarlier) }

    /// `2026-10-25T02:30:00+02:00`.
    private static func isoDate(_ instant: Instant, _ zone: Zone) -> String {
        let text = HealthFiles.date(instant, zone: zone)
        return text.prefix(10) + "T" + text.dropFirst(11).prefix(8) + text.suffix(5).prefix(3) + ":" + text.suffix(2)
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "\t", "\n", "\r": result += "&#\(scalar.value);"
            // XML 1.0 has no other control characters, not even written as numbers.
            case _ where scalar.value < 32: result += "\u{FFFD}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func quoted(_ text: String) -> String {
        text.contains(where: { $0 == "," || $0 == "\"" || $0.isNewline }) ? "\"" + text.replacing("\"", with: "\"\"") + "\"" : text
    }
}

enum JSONText {
    /// A JSON string with its quotes.
    static func string(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case _ where scalar.value < 32:
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
