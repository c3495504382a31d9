import Foundation
import TrackerCore

/// An amount as it is typed: a number, or the name of one that the settings have.
package enum Amount: Hashable, Sendable {
    case ml(Int)
    /// The setting `hydration.cupMl`.
    case cup
    /// One of the setting `hydration.quickAddMl`, counted from 1.
    case quick(Int)

    /// `250`, `0.25l`, `8oz` (`Amounts.typed`), `cup`, `quick1`; `nil` for anything else.
    package init?(_ text: String) {
        if let ml = Amounts.typed(text) {
            self = .ml(ml)
        } else if text == "cup" {
            self = .cup
        } else if text.hasPrefix("quick"), let number = Int(text.dropFirst(5)), number > 0 {
            self = .quick(number)
        } else {
            return nil
        }
    }

    /// - Throws: `Refusal` where the settings have no such amount.
    package func millilitres(_ settings: Settings) throws -> Int {
        switch self {
        case .ml(let ml): return ml
        case .cup: return settings.cupMl
        case .quick(let number):
            let amounts = settings.quickAddMl
            guard amounts.indices.contains(number - 1) else {
                throw Refusal(
                    "noSuchAmount",
                    """
                    There is no quick\(number): hydration.quickAddMl has \(amounts.count) \
                    amount\(amounts.count == 1 ? "" : "s").
                    """
                )
            }
            return amounts[number - 1]
        }
    }
}

/// Days, weeks and months as a person types them.
package enum DayText {
    /// `today`, `yesterday`, `2026-06-15`.
    /// - Throws: `WrongInput`.
    package static func day(_ text: String, today: LocalDay) throws -> LocalDay {
        switch text {
        case "today": return today
        case "yesterday": return today.adding(days: -1)
        default:
            guard let day = LocalDay(text) else {
                throw WrongInput("notADay", "\"\(text)\" cannot be read here.", values: ["given": text])
            }
            return day
        }
    }

    /// A day of the week that is meant: a day as above, or so many weeks ago.
    /// - Throws: `WrongInput`.
    package static func dayOfWeek(_ text: String?, today: LocalDay) throws -> LocalDay {
        guard let text else { return today }
        if let ago = Int(text), (0...10_000).contains(ago) { return today.adding(days: -7 * ago) }
        return try day(text, today: today)
    }

    /// The first day of a month: `2026-06`.
    /// - Throws: `WrongInput`.
    package static func month(_ text: String) throws -> LocalDay {
        guard let first = LocalDay(text + "-01") else {
            throw WrongInput("notAMonth", "\"\(text)\" cannot be read here.", values: ["given": text])
        }
        return first
    }
}

/// Times as a person types them.
package enum Moment {
    /// An instant with offset, a wall time in the zone (`2026-06-15T14:00`, with a space too), or `14:00`: the latest
    /// such time that is not after `now`.
    /// - Throws: `WrongInput`, `UnsupportedInstant`.
    package static func parse(_ text: String, now: Instant?, zone: Zone) throws -> Instant {
        if let instant = Instant(iso: text) { return try instant.checked() }
        let wall = text.utf8.count == 16 ? text + ":00" : text
        if let wall = WallTime(wall), let moments = zone.moments(of: wall) { return try moments.first.checked() }
        if let now, let time = TimeOfDay(text) {
            let calendar = DayCalendar(zone: zone, boundaryHour: 0)
            let today = calendar.day(of: now)
            let instant = calendar.instant(on: today, at: time)
            return instant <= now ? instant : calendar.instant(on: today.adding(days: -1), at: time)
        }
        throw WrongInput("notATime", "\"\(text)\" is not a time.", values: ["given": text])
    }
}

extension WallMoments {
    /// The instant meant by a wall time; the earlier of two.
    fileprivate var first: Instant {
        switch self {
        case .once(let instant), .repeated(let instant, _), .skipped(let instant, _): instant
        }
    }
}

/// Which zone days are counted in: the one that is named, else what the setting `day.zone` says, else the machine's.
package struct ZoneChoice: Hashable, Sendable {
    /// By a flag, the environment or the configuration.
    package let named: Zone?
    /// The machine's zone.
    package let machine: Zone

    /// - Throws: `UnknownZone`.
    package init(named: String?, machine: Zone) throws(UnknownZone) {
        if let named { self.named = try Zone(named) } else { self.named = nil }
        self.machine = machine
    }

    /// The zone that stands for "system" in the store's settings.
    package var host: Zone { named ?? machine }

    /// The zone in which a day is a day: the one named, that of the settings where it is known here, or the machine's.
    package func inForce(_ settings: Settings) -> Zone {
        named ?? settings.dayZone.flatMap { try? Zone($0) } ?? machine
    }
}

/// What to change in a drink or in an entry of a session; whatever is `nil` stays.
package struct EntryChange: Hashable, Sendable {
    /// A drink's amount.
    package var ml: Int?
    /// When it was.
    package var at: Instant?
    /// When a drink was, on the clock of the place where it was drunk: it stays in its day.
    package var time: TimeOfDay?
    /// When it was, as a person types it. A time of day alone is, of a drink, that of the day which it was drunk on:
    /// one of the day before yesterday stays there. Of an entry of a session it is the latest that is past.
    package var typed: String?
    /// Standard drinks of an entry with alcohol.
    package var estimate: Double?
    /// Ounces of a water.
    package var oz: Double?

    package init(
        ml: Int? = nil, at: Instant? = nil, time: TimeOfDay? = nil, typed: String? = nil, estimate: Double? = nil,
        oz: Double? = nil
    ) {
        (self.ml, self.at, self.time, self.typed, self.estimate, self.oz) = (ml, at, time, typed, estimate, oz)
    }
}

/// What a preset is to be; whatever is `nil` stays, or takes its default.
package struct PresetValues: Hashable, Sendable {
    /// What the person calls it, 1 to 64 characters.
    package var name: String?
    /// What kind of drink it is.
    package var type: DrinkType?
    /// Its volume in US fluid ounces.
    package var sizeOz: Double?
    /// Percent by volume.
    package var abv: Double?
    /// Standard drinks; where none is given, they follow from size and strength.
    package var estimate: Double?
    /// What the preset is to have no longer.
    package var without: Set<Part> = []

    /// What a preset may lack.
    package enum Part: Hashable, Sendable { case size, strength }

    package init(
        name: String? = nil, type: DrinkType? = nil, sizeOz: Double? = nil, abv: Double? = nil, estimate: Double? = nil,
        without: Set<Part> = []
    ) {
        (self.name, self.type, self.sizeOz, self.abv, self.estimate, self.without) = (
            name, type, sizeOz, abv, estimate, without
        )
    }

    /// Standard drinks of a size and a strength.
    static func estimate(_ sizeOz: Double?, _ abv: Double?) -> Double? {
        guard let sizeOz, let abv, sizeOz.isFinite, abv.isFinite else { return nil }
        return StandardDrinks.estimate(sizeOz: sizeOz, abvPercent: abv)
    }
}

/// A key that stands twice in a JSON object. Which of its values is meant nobody knows (RFC 8259, 4): readers differ,
/// and a proxy may have looked at the other one.
package enum RepeatedKey {
    /// The first key of the outermost object that stands there again, however it is written.
    /// - Parameter json: one whole JSON object; of anything else nothing is said.
    package static func first(in json: some Sequence<UInt8>) -> String? {
        var (depth, isObject, isInText, isEscaped, isKey) = (0, false, false, false, false)
        var text: [UInt8] = []
        var seen: Set<String> = []
        for byte in json {
            if isInText {
                if isKey { text.append(byte) }
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInText = false
                    guard isKey else { continue }
                    isKey = false
                    let key = words(text)
                    guard seen.insert(key).inserted else { return key }
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""):
                isInText = true
                text = isKey ? [byte] : []
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                if depth == 1 { isObject = byte == UInt8(ascii: "{") }
                isKey = depth == 1 && isObject
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: ","): isKey = depth == 1 && isObject
            default: break
            }
        }
        return nil
    }

    /// What a text in quotes says: `\u0061` is an a.
    private static func words(_ quoted: [UInt8]) -> String {
        guard quoted.contains(UInt8(ascii: "\\")) else {
            return String(decoding: quoted.dropFirst().dropLast(), as: UTF8.self)
        }
        return (try? JSONDecoder().decode(String.self, from: Data(quoted))) ?? String(decoding: quoted, as: UTF8.self)
    }
}
