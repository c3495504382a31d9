import Foundation

/// Reads the three formats back, and Apple's own export. A file that is cut, malformed or of another kind is refused
/// whole; records of other types (steps, heart rate) are passed over.
public enum HealthImport {
    public enum Format: String, Hashable, Sendable, CaseIterable { case appleHealth = "apple-health", csv, json }

    /// A file's samples, whatever its format, recognised by its first character.
    public static func samples(_ text: String) throws(HealthFileError) -> [HealthSample] {
        switch format(of: text) {
        case .appleHealth: try appleHealth(text)
        case .csv: try csv(text)
        case .json: try json(text)
        case nil:
            throw HealthFileError(reason: "This is no health file: it begins neither with <, [ or {, nor with the line \(HealthExport.csvHeader).")
        }
    }

    /// The format, by how the text begins; `nil` for anything else.
    public static func format(of text: String) -> Format? {
        switch text.unicodeScalars.first(where: { !$0.properties.isWhitespace && $0.value != 0xFEFF }) {
        case "<": .appleHealth
        case "[", "{": .json
        default: text.drop(while: { $0 == "\u{FEFF}" || $0.isWhitespace }).lowercased().hasPrefix("startdate,") ? .csv : nil
        }
    }

    // MARK: CSV

    /// Columns by the names in the first line; `startDate` and `value_ml` must be among them.
    public static func csv(_ text: String) throws(HealthFileError) -> [HealthSample] {
        var rows = try CSVReader.rows(text)
        guard let header = rows.first?.fields.map({ $0.lowercased() }), let start = header.firstIndex(of: "startdate"),
            let value = header.firstIndex(of: "value_ml")
        else { throw HealthFileError(line: 1, reason: "The first line must name the columns: \(HealthExport.csvHeader).") }
        rows.removeFirst()
        let uuid = header.firstIndex(of: "uuid")
        let source = header.firstIndex(of: "source")
        var samples: [HealthSample] = []
        for row in rows where row.fields != [""] {
            guard row.fields.count == header.count else {
                throw HealthFileError(line: row.line, reason: "It has \(row.fields.count) columns where the first line has \(header.count). Is the file cut?")
            }
            samples.append(
                try sample(
                    date: row.fields[start], value: Double(row.fields[value]), unit: "mL", shownValue: row.fields[value],
                    uuid: uuid.map { row.fields[$0] }, source: source.map { row.fields[$0] }, line: row.line))
        }
        return samples
    }

    // MARK: JSON

    /// A list of objects with `startDate` and `value_ml`, or an object with such a list under `drinks`.
    public static func json(_ text: String) throws(HealthFileError) -> [HealthSample] {
        guard let parsed = try? JSONSerialization.jsonObject(with: Data(text.utf8)) else {
            throw HealthFileError(reason: "This is not whole JSON. Is the file cut?")
        }
        let list = parsed as? [Any] ?? (parsed as? [String: Any])?["drinks"] as? [Any]
        guard let list else { throw HealthFileError(reason: "The JSON must be a list of drinks with startDate and value_ml.") }
        var samples: [HealthSample] = []
        for (index, element) in list.enumerated() {
            guard let object = element as? [String: Any], let date = object["startDate"] as? String else {
                throw HealthFileError(reason: "Entry \(index + 1) of the list has no startDate.")
            }
            let value = object["value_ml"]
            do throws(HealthFileError) {
                samples.append(
                    try sample(
                        date: date, value: (value as? NSNumber)?.doubleValue, unit: "mL", shownValue: value.map { "\($0)" } ?? "nothing",
                        uuid: object["uuid"] as? String, source: object["source"] as? String, line: nil))
            } catch {
                throw HealthFileError(reason: "Entry \(index + 1) of the list: \(error.reason)")
            }
        }
        return samples
    }

    // MARK: Apple Health

    /// Apple's export, or ours: the water records of one `HealthData` document.
    public static func appleHealth(_ text: String) throws(HealthFileError) -> [HealthSample] {
        var reader = XMLReader(text)
        var samples: [HealthSample] = []
        var open: [String] = []
        var isHealthData = false
        var current: HealthSample?
        while let tag = try reader.next() {
            switch tag.kind {
            case .start:
                if open.isEmpty {
                    guard tag.name == "HealthData", !isHealthData else {
                        throw HealthFileError(line: tag.line, reason: "The document must be one HealthData element, not \(tag.name).")
                    }
                    isHealthData = true
                }
                if tag.name == "Record", tag.attributes["type"] == HealthFiles.waterType { current = try sample(tag) }
                if tag.name == "MetadataEntry", tag.attributes["key"] == "HKExternalUUID" { current?.uuid = tag.attributes["value"] }
                if tag.isClosed {
                    if tag.name == "Record" { finish(&current, &samples) }
                } else {
                    open.append(tag.name)
                }
            case .end:
                guard open.popLast() == tag.name else {
                    throw HealthFileError(line: tag.line, reason: "</\(tag.name)> closes nothing that is open.")
                }
                if tag.name == "Record" { finish(&current, &samples) }
            }
        }
        guard isHealthData else { throw HealthFileError(reason: "The document has no HealthData element.") }
        guard let unclosed = open.last else { return samples }
        throw HealthFileError(line: reader.line, reason: "The file ends inside <\(unclosed)>: it is cut.")
    }

    private static func finish(_ current: inout HealthSample?, _ samples: inout [HealthSample]) {
        if let sample = current { samples.append(sample) }
        current = nil
    }

    private static func sample(_ tag: XMLReader.Tag) throws(HealthFileError) -> HealthSample {
        let value = tag.attributes["value"] ?? ""
        return try sample(
            date: tag.attributes["startDate"] ?? "", value: Double(value), unit: tag.attributes["unit"] ?? "", shownValue: value,
            uuid: nil, source: tag.attributes["sourceName"], line: tag.line)
    }

    private static func sample(
        date: String, value: Double?, unit: String, shownValue: String, uuid: String?, source: String?, line: Int?
    ) throws(HealthFileError) -> HealthSample {
        guard let at = Instant(iso: date) else {
            throw HealthFileError(line: line, reason: "\"\(date)\" is not a date such as 2026-10-25 02:30:00 +0200.")
        }
        guard at.isSupported else { throw HealthFileError(line: line, reason: UnsupportedInstant(instant: at).description) }
        guard HealthFiles.millilitres(per: unit) != nil else {
            throw HealthFileError(line: line, reason: "The unit \"\(unit)\" is not one of mL, L, fl_oz_us, cup_us.")
        }
        guard let value, let ml = HealthFiles.amount(value, unit: unit) else {
            throw HealthFileError(line: line, reason: "\"\(shownValue)\" is not an amount of water.")
        }
        return HealthSample(at: at, ml: ml, uuid: uuid?.isEmpty == false ? uuid : nil, sourceName: source)
    }
}
