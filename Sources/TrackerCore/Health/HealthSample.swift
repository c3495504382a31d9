import Foundation

/// An amount of water in a health file (tracker spec D4). `nil` fields are not in the file.
package struct HealthSample: Hashable, Sendable {
    package var at: Instant
    package var ml: Int
    /// The key of an exported drink (`HKExternalUUID`).
    package var uuid: String?
    /// The name of the program that wrote the sample.
    package var sourceName: String?
    package var zone: String?
    package var day: LocalDay?
    package var source: DrinkSource?
    /// The key of the drink that was corrected. A bottle might still deliver that drink.
    package var original: String?
    /// The addresses of the bottle, separated by `|`.
    package var bottle: String?
    package var raw: [UInt8]?

    package init(at: Instant, ml: Int, uuid: String? = nil, sourceName: String? = nil) {
        self.at = at
        self.ml = ml
        self.uuid = uuid
        self.sourceName = sourceName
    }

    /// The key of the stored drink. An exported drink keeps its key, so that the bottle's next poll does not add it
    /// again. Another program's sample has start, value and source as its key, so that a second import adds nothing.
    package var importKey: String {
        if let uuid, sourceName == nil || sourceName == HealthFiles.sourceName { return uuid }
        return "health|\(at)|\(ml)|\(sourceName ?? "")"
    }

    /// The source in the key of another program's sample; `nil` for any other key.
    package static func source(_ key: String) -> String? {
        let parts = key.split(separator: "|", maxSplits: 3, omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "health" ? String(parts[3]) : nil
    }

    /// The bottle's record of this drink or of its original; `nil` if the file has none.
    /// - Parameter zone: the time zone of a drink without one.
    package func record(received: Instant, zone: String) -> WireEntry? {
        guard let bottle, let raw, let uuid, uuid == importKey else { return nil }
        let parts = (original ?? uuid).split(separator: "|", omittingEmptySubsequences: false)
        guard parts.count > 2, let ml = Int(parts[parts.count - 1]), ml > 0 else { return nil }
        let origin = parts.dropLast(2).joined(separator: "|")
        let wall = WallTime(String(parts[parts.count - 2]))
        var entry = JournalEntry(
            bottle: origin, raw: raw, wall: wall, amountMl: ml, received: max(received, at),
            verdict: .drink(at: at, zone: self.zone ?? zone))
        entry.isDatedManually = wall == nil
        let names = bottle.split(separator: "|").map(String.init).filter { $0 != origin }
        return WireEntry(gateway: "export", entry: entry, names: Array(names.prefix(WireEntry.namesLimit)))
    }
}

/// The reason why a file was rejected. Nothing is imported.
package struct HealthFileError: Problem, Hashable {
    /// The line number from 1; `nil` if the error is not in one line.
    package var line: Int?
    /// The reason as a sentence without the line number.
    package var reason: String
    package var code: String

    /// - Parameter code: in lowerCamelCase. The commands select their advice by this code.
    package init(line: Int? = nil, reason: String, code: String = "badHealthFile") {
        self.line = line
        self.reason = reason
        self.code = code
    }

    package var category: ProblemCategory { .damaged }
    package var values: [String: String] { line.map { ["line": String($0)] } ?? [:] }
    package var sentence: String { (line.map { "Line \($0): " } ?? "") + reason }
}

package enum HealthFiles {
    package enum Format: String, Hashable, Sendable, CaseIterable { case appleHealth = "apple-health", csv, json }

    package static let sourceName = "waterh-bench"
    package static let waterType = "HKQuantityTypeIdentifierDietaryWater"

    /// The key of metadata for a drink key that XML cannot hold, next to `HKExternalUUID`. The value is `escaped`.
    package static let escapedKey = "waterh-bench-key"

    /// The key of metadata for the original of a corrected drink. The value is `escaped`.
    package static let originalKey = "waterh-bench-original"

    /// Metadata keys for a bottle's addresses (`escaped`), the record's wall-clock time and bytes (hexadecimal).
    package static let bottleKey = "waterh-bench-bottle", wallKey = "waterh-bench-wall", rawKey = "waterh-bench-raw"

    /// Whether two amounts can be the same drink: equal, or equal after rounding one to whole, tenths or hundredths of
    /// a fluid ounce. A difference of 1 ml is rounding.
    package static func isSameAmount(_ ml: Int, _ other: Int) -> Bool {
        if abs(ml - other) <= 1 { return true }
        for unit in ["fl_oz_us", "fl_oz_imp"] {
            guard let factor = millilitres(per: unit) else { continue }
            for scale in [1.0, 10, 100] {
                let rounded = (Double(ml) / factor * scale).rounded() / scale * factor
                if abs(rounded - Double(other)) <= 1 { return true }
            }
        }
        return false
    }

    /// Percent-encodes the bytes of UTF-8 that are not ASCII letters or digits: `%EF`.
    static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unescapedCharacters) ?? ""
    }

    private static let unescapedCharacters = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")

    /// The inverse of `escaped`; `nil` for other texts.
    package static func unescaped(_ text: String) -> String? {
        var (bytes, rest): ([UInt8], Substring.UTF8View) = ([], text[...].utf8)
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self).flatMap { escaped($0) == text ? $0 : nil }
    }

    /// The number of millilitres in one HealthKit unit.
    static func millilitres(per unit: String) -> Double? {
        switch unit.lowercased() {
        case "mcl", "ul": 0.001
        case "ml": 1
        case "cl": 10
        case "dl": 100
        case "l": 1000
        case "dal": 10_000
        case "hl": 100_000
        case "kl": 1_000_000
        case "fl_oz_us": 29.5735
        case "fl_oz_imp": 28.4130625
        case "cup_us": 236.588
        case "cup_imp": 284.130625
        case "pt_us": 473.176473
        case "pt_imp": 568.26125
        default: nil
        }
    }

    /// The largest amount of an imported drink.
    static let maximumMl = 100_000

    /// The amount in millilitres, rounded half up; `nil` below 0, above `maximumMl`, and for NaN.
    package static func amount(_ value: Double, unit: String) -> Int? {
        guard let factor = millilitres(per: unit), value.isFinite else { return nil }
        let ml = value * factor
        return ml >= 0 && ml <= Double(maximumMl) ? Int((ml + 0.5).rounded(.down)) : nil
    }

    package static func isUnit(_ unit: String) -> Bool { millilitres(per: unit) != nil }

    /// The date `2026-10-25T02:30:00+02:00` (ISO 8601, with milliseconds if they are not zero), or
    /// `2026-10-25 02:30:00 +0200`, in the drink's time zone.
    package static func dateText(_ instant: Instant, _ zone: Zone, isISO: Bool = true) -> String {
        let wall = zone.wall(at: instant)
        guard (0...9999).contains(wall.year) else { return "\(instant)" }
        let offset = zone.offsetSeconds(at: instant)
        let sign = offset < 0 ? "-" : "+"
        let (hours, minutes) = (padded(abs(offset) / 3600, 2), padded(abs(offset) / 60 % 60, 2))
        guard isISO else { return "\(wall.dateText) \(wall.timeText) \(sign)\(hours)\(minutes)" }
        let rest = Int((instant.milliseconds % 1000 + 1000) % 1000)
        return "\(wall)" + (rest == 0 ? "" : ".\(padded(rest, 3))") + "\(sign)\(hours):\(minutes)"
    }
}
