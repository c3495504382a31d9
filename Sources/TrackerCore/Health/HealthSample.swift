/// One amount of water as health files know it (tracker spec D4).
package struct HealthSample: Hashable, Sendable {
    /// When it was drunk.
    package var at: Instant
    /// How much.
    package var ml: Int
    /// Our own drink's key, where the sample carries one (`HKExternalUUID`).
    package var uuid: String?
    /// What wrote it, where the file says.
    package var sourceName: String?
    /// Where, on which day and how the drink was counted, where the file says: our JSON does.
    package var zone: String?
    /// The day it was counted on, where the file says.
    package var day: LocalDay?
    /// Where it came from, where the file says.
    package var source: DrinkSource?
    /// The key of the drink that it was corrected from, where the file says: a bottle may still bring that one.
    package var original: String?
    /// The addresses of the bottle that delivered the record, separated by `|`, where the file has them.
    package var bottle: String?
    /// The record's bytes, where the file has them.
    package var raw: [UInt8]?

    package init(at: Instant, ml: Int, uuid: String? = nil, sourceName: String? = nil) {
        self.at = at
        self.ml = ml
        self.uuid = uuid
        self.sourceName = sourceName
    }

    /// Of a drink, under its key.
    package init(_ drink: Drink) {
        self.init(at: drink.at, ml: drink.ml, uuid: drink.key, sourceName: HealthFiles.sourceName)
    }

    /// The key that the sample is stored under. Our own keeps its key, so that the bottle's next poll does not add it
    /// again; a foreign one is start, value and source, so that a file read twice adds nothing.
    package var importKey: String {
        if let uuid, sourceName == nil || sourceName == HealthFiles.sourceName { return uuid }
        return "health|\(at)|\(ml)|\(sourceName ?? "")"
    }

    /// The source in the key of another program's sample; `nil` for any other key.
    package static func source(_ key: String) -> String? {
        let parts = key.split(separator: "|", maxSplits: 3, omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "health" ? String(parts[3]) : nil
    }

    /// The record that this drink of ours, or the one that it corrects, came from; `nil` where the file has none.
    /// - Parameter zone: the zone of a drink without one of its own.
    package func record(received: Instant, zone: String) -> WireEntry? {
        guard let bottle, let raw, let uuid, uuid == importKey else { return nil }
        let parts = (original ?? uuid).split(separator: "|", omittingEmptySubsequences: false)
        guard parts.count > 2, let ml = Int(parts[parts.count - 1]), ml > 0 else { return nil }
        let origin = parts.dropLast(2).joined(separator: "|")
        let wall = WallTime(String(parts[parts.count - 2]))
        var entry = JournalEntry(
            bottle: origin, raw: raw, wall: wall, amountMl: ml, received: max(received, at),
            verdict: .drink(at: at, zone: self.zone ?? zone))
        entry.isByHand = wall == nil
        let names = bottle.split(separator: "|").map(String.init).filter { $0 != origin }
        return WireEntry(gateway: "export", entry: entry, names: Array(names.prefix(WireEntry.namesLimit)))
    }

    /// The drink to store; `nil` where our own drink is there already.
    package func drink(known: (String) -> Bool, calendar: DayCalendar, now: Instant) -> Drink? {
        if let uuid, known(uuid) { return nil }
        guard !known(importKey) else { return nil }
        return Drink(key: importKey, at: at, calendar: calendar, ml: ml, source: .health, updatedAt: now)
    }
}

/// What an import makes of a file: whole, or refused by a sentence.
package struct HealthFileError: Problem, Hashable {
    /// 1-based line, where the trouble lies in one.
    package var line: Int?
    /// What is wrong, in a sentence without the line.
    package var reason: String
    /// For programs: one word in lowerCamelCase.
    package var code: String

    /// - Parameter code: where something particular can be done about it.
    package init(line: Int? = nil, reason: String, code: String = "badHealthFile") {
        self.line = line
        self.reason = reason
        self.code = code
    }

    /// Always `damaged`: the file is not what it should be.
    package var category: ProblemCategory { .damaged }
    /// The line, where it is known.
    package var values: [String: String] { line.map { ["line": String($0)] } ?? [:] }
    /// The reason, with its line.
    package var sentence: String { (line.map { "Line \($0): " } ?? "") + reason }
}

/// Names and units that the three formats share.
package enum HealthFiles {
    /// What our files are written as, and recognised as.
    package enum Format: String, Hashable, Sendable, CaseIterable { case appleHealth = "apple-health", csv, json }

    /// Who we are in files that we write.
    package static let sourceName = "waterh-bench"
    /// Apple Health's name of what they hold.
    package static let waterType = "HKQuantityTypeIdentifierDietaryWater"

    /// Beside `HKExternalUUID`, for the few keys with characters that XML has no way to write: the key, `escaped`.
    package static let wholeKey = "waterh-bench-key"

    /// Of a drink that somebody corrected: the key of the one that it stands instead of, `escaped`.
    package static let originalKey = "waterh-bench-original"

    /// Of a drink from a bottle: the bottle's addresses (`escaped`), the record's wall clock, its bytes in hexadecimal.
    package static let bottleKey = "waterh-bench-bottle", wallKey = "waterh-bench-wall", rawKey = "waterh-bench-raw"

    /// Whether two amounts can be the same drink: equal, or equal once one was rounded to whole, tenths or hundredths
    /// of a fluid ounce. One millilitre more or less is rounding.
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

    /// A text in ASCII, its other bytes in UTF-8 as `%EF`.
    static func escaped(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default: result += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
        return result
    }

    /// The text again; `nil` for what `escaped` does not write.
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

    /// Millilitres in one of a unit, by the name that HealthKit gives it.
    static func millilitres(per unit: String) -> Double? {
        switch unit.lowercased() {
        case "mcl", "ul": 0.001
        case "ml": 1
        case "cl": 10
        case "dl": 100
        case "l": 1000
        case "dal": 10_000
        case "fl_oz_us": 29.5735
        case "fl_oz_imp": 28.4130625
        case "cup_us": 236.588
        case "cup_imp": 284.130625
        case "pt_us": 473.176473
        case "pt_imp": 568.26125
        default: nil
        }
    }

    /// Halves up; `nil` for what cannot be an amount of water: below 0, over 100 litres, no number.
    package static func amount(_ value: Double, unit: String) -> Int? {
        guard let factor = millilitres(per: unit), value.isFinite else { return nil }
        let ml = value * factor
        return ml >= 0 && ml <= 100_000 ? Int((ml + 0.5).rounded(.down)) : nil
    }

    /// Whether a file may give amounts in it.
    package static func isUnit(_ unit: String) -> Bool { millilitres(per: unit) != nil }

    /// A moment with the offset that held in its zone: `2026-10-25T02:30:00+02:00`.
    package static func dateText(_ instant: Instant, _ zone: Zone) -> String {
        var bytes: [UInt8] = []
        appendDate(instant, zone, isISO: true, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// `2026-10-25 02:30:00 +0200`, or `2026-10-25T02:30:00+02:00`: the wall clock of the drink's own zone, with that
    /// instant's offset. The second form has milliseconds, where there are any.
    static func appendDate(_ instant: Instant, _ zone: Zone, isISO: Bool, to bytes: inout [UInt8]) {
        let wall = zone.wall(at: instant)
        guard (0...9999).contains(wall.year) else { return bytes += "\(instant)".utf8 }
        let offset = zone.offsetSeconds(at: instant)
        let minutes = abs(offset) / 60
        func append(_ number: Int, _ end: StaticString) {
            bytes.append(UInt8(truncatingIfNeeded: 0x30 + number / 10 % 10))
            bytes.append(UInt8(truncatingIfNeeded: 0x30 + number % 10))
            end.withUTF8Buffer { bytes.append(contentsOf: $0) }
        }
        append(wall.year / 100, "")
        append(wall.year % 100, "-")
        append(wall.month, "-")
        append(wall.day, isISO ? "T" : " ")
        append(wall.hour, ":")
        append(wall.minute, ":")
        append(wall.second, isISO ? "" : " ")
        let rest = Int((instant.milliseconds % 1000 + 1000) % 1000)
        if isISO, rest != 0 {
            bytes += [UInt8(ascii: "."), UInt8(truncatingIfNeeded: 0x30 + rest / 100)]
            append(rest % 100, "")
        }
        bytes.append(offset < 0 ? UInt8(ascii: "-") : UInt8(ascii: "+"))
        append(minutes / 60, isISO ? ":" : "")
        append(minutes % 60, "")
    }
}
