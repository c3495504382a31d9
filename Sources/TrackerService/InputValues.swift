import Foundation
package import TrackerCore

/// An amount from the user: a number, or the name of an amount in the settings.
package enum Amount: Hashable, Sendable {
    case ml(Int)
    /// The setting `hydration.cupMl`.
    case cup
    /// An amount of the setting `hydration.quickAddMl`, by its number from 1.
    case quick(Int)

    /// Parses `250`, `0.25l`, `8oz` (`Amounts.parse`), `cup` and `quick1`.
    package init?(_ text: String) {
        if let ml = Amounts.parse(text) {
            self = .ml(ml)
        } else if text == "cup" {
            self = .cup
        } else if text.hasPrefix("quick"), let number = Int(text.dropFirst(5)), number > 0 {
            self = .quick(number)
        } else {
            return nil
        }
    }

    /// The amount in millilitres.
    /// - Throws: `Refusal` if the settings have no such amount.
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

/// Parsers for days, weeks and months. They throw `WrongInput`.
package enum DayText {
    /// Parses `today`, `yesterday`, `2026-06-15`.
    package static func day(_ text: String, today: LocalDay) throws -> LocalDay {
        switch text {
        case "today": return today
        case "yesterday": return today.adding(days: -1)
        default:
            guard let day = LocalDay(text) else {
                throw WrongInput("notADay", "\"\(text)\" is not a valid day.", values: ["given": text])
            }
            return day
        }
    }

    /// Parses a day that selects a week: a day as for `day`, or a number of weeks ago.
    package static func dayOfWeek(_ text: String?, today: LocalDay) throws -> LocalDay {
        guard let text else { return today }
        if let ago = Int(text), (0...10_000).contains(ago) { return today.adding(days: -7 * ago) }
        return try day(text, today: today)
    }

    /// Parses a month (`2026-06`). Returns its first day.
    package static func month(_ text: String) throws -> LocalDay {
        guard let first = LocalDay(text + "-01") else {
            throw WrongInput("notAMonth", "\"\(text)\" is not a valid month.", values: ["given": text])
        }
        return first
    }
}

/// The parser for times.
package enum TimeText {
    /// Parses an instant with offset, a local time (`2026-06-15T14:00`, also with a space), or `14:00`, which is the
    /// most recent such time until `now`.
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
        throw WrongInput("notATime", "\"\(text)\" is not a valid time.", values: ["given": text])
    }
}

extension WallMoments {
    /// The instant of a local time. A repeated or skipped local time has two, of which this is the earlier.
    fileprivate var first: Instant {
        switch self {
        case .once(let instant), .repeated(let instant, _), .skipped(let instant, _): instant
        }
    }
}

/// The time zone of days: the named one, else the setting `day.zone`, else the host's.
package struct ZoneChoice: Hashable, Sendable {
    /// The time zone that an option, the environment or the configuration names.
    package let named: Zone?
    package let machine: Zone

    package init(named: String?, machine: Zone) throws(UnknownZone) {
        if let named { self.named = try Zone(named) } else { self.named = nil }
        self.machine = machine
    }

    /// The time zone that the setting value `system` means.
    package var host: Zone { named ?? machine }

    /// The effective time zone. An unknown `day.zone` is ignored.
    package func effectiveZone(_ settings: Settings) -> Zone {
        named ?? settings.dayZone.flatMap { try? Zone($0) } ?? machine
    }
}

/// A change of a drink or of a session entry. Fields that are `nil` keep their value.
package struct EntryChange: Hashable, Sendable {
    package var ml: Int?
    package var at: Instant?
    /// The new local time of a drink in its own time zone, on the same day.
    package var time: TimeOfDay?
    /// The time as text. A time of day is on the day of a drink; for a session entry it is the most recent one.
    package var timeText: String?
    package var estimate: Double?
    /// The volume of a water in US fluid ounces.
    package var oz: Double?

    package init(
        ml: Int? = nil, at: Instant? = nil, time: TimeOfDay? = nil, timeText: String? = nil, estimate: Double? = nil,
        oz: Double? = nil
    ) {
        (self.ml, self.at, self.time, self.timeText, self.estimate, self.oz) = (ml, at, time, timeText, estimate, oz)
    }
}

/// The values of a preset. Fields that are `nil` keep their value; in a new preset they have their default.
package struct PresetValues: Hashable, Sendable {
    /// The name, 1 to 64 characters.
    package var name: String?
    package var type: DrinkType?
    /// The volume in US fluid ounces.
    package var sizeOz: Double?
    /// The strength in percent by volume.
    package var abv: Double?
    /// The standard drinks. The default is computed from size and strength.
    package var estimate: Double?
    /// The values to remove.
    package var without: Set<Part> = []

    package enum Part: Hashable, Sendable { case size, strength }

    package init(
        name: String? = nil, type: DrinkType? = nil, sizeOz: Double? = nil, abv: Double? = nil, estimate: Double? = nil,
        without: Set<Part> = []
    ) {
        (self.name, self.type, self.sizeOz, self.abv, self.estimate, self.without) = (
            name, type, sizeOz, abv, estimate, without
        )
    }

    static func estimate(_ sizeOz: Double?, _ abv: Double?) -> Double? {
        guard let sizeOz, let abv, sizeOz.isFinite, abv.isFinite else { return nil }
        return StandardDrinks.estimate(sizeOz: sizeOz, abvPercent: abv)
    }
}
