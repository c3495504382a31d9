/// A drink as the tracker knows it, frozen when it was stored: travel does not move history (tracker spec T).
package struct Drink: Hashable, Sendable, Codable, Identifiable {
    /// What identifies it for ever: `Drink.bottleKey` for a bottle's record, an id made once for anything else.
    package var key: String
    /// When it was drunk.
    package var at: Instant
    /// IANA id of the zone in force when it was stored.
    package var zone: String
    /// The day it belongs to, computed when it was stored.
    package var localDay: LocalDay
    /// How much; 0 is kept and counts nowhere.
    package var ml: Int
    /// Where it came from.
    package var source: DrinkSource
    /// Deleted drinks stay as tombstones, so that the next poll does not bring them back.
    package var isDeleted: Bool
    /// When the row was last changed.
    package var updatedAt: Instant

    /// The key.
    package var id: String { key }

    package init(
        key: String, at: Instant, zone: String, localDay: LocalDay, ml: Int, source: DrinkSource,
        isDeleted: Bool = false, updatedAt: Instant
    ) {
        self.key = key
        self.at = at
        self.zone = zone
        self.localDay = localDay
        self.ml = ml
        self.source = source
        self.isDeleted = isDeleted
        self.updatedAt = updatedAt
    }

    /// A drink dated now or then, with its day computed in the zone.
    package init(key: String, at: Instant, calendar: DayCalendar, ml: Int, source: DrinkSource, updatedAt: Instant) {
        self.init(
            key: key, at: at, zone: calendar.zone.id, localDay: calendar.day(of: at), ml: ml, source: source,
            updatedAt: updatedAt)
    }

    /// Counts into totals: not deleted, and more than nothing.
    package var counts: Bool { !isDeleted && ml > 0 }

    /// Whether it counts when one asks for that moment (`--now`): drunk by then, or stored by then, as a drink is whose
    /// bottle's clock is ahead of ours.
    /// - Parameter asked: `nil`: nobody asked for a moment, and all that is stored counts.
    package func isKnown(at asked: Instant?) -> Bool { asked.map { at <= $0 || updatedAt <= $0 } ?? true }

    /// A bottle's drink is its bottle, the record's own wall clock and the amount (A6): not the instant, which may rest
    /// on evidence; not the bytes of unknown meaning; not when it arrived.
    ///
    /// - Parameters:
    ///   - bottle: the identity that it was first seen by: a new name changes no key.
    ///   - wall: `yyyy-MM-ddTHH:mm:ss` as the record says, with its year; the raw bytes where somebody counts a record
    ///     without one.
    package static func bottleKey(bottle: String, wall: String, amountMl: Int) -> String {
        "\(bottle)|\(wall)|\(amountMl)"
    }

    /// Order of history: by instant, ties by key. Lists show it backwards.
    package static func isEarlier(_ left: Drink, _ right: Drink) -> Bool { (left.at, left.key) < (right.at, right.key) }

    /// Amounts that a person may log: 1–2000 ml (D1).
    package static let manualMl = 1...2000
}

/// Where a drink came from. An open set: imports keep names of other programs.
package struct DrinkSource: RawRepresentable, Hashable, Sendable, Codable {
    /// The word itself, as it stands in JSON.
    package var rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// A bottle's record.
    package static let bottle = DrinkSource(rawValue: "bottle")
    /// The command line.
    package static let cli = DrinkSource(rawValue: "cli")
    /// A page.
    package static let web = DrinkSource(rawValue: "web")
    /// A notification's button.
    package static let notification = DrinkSource(rawValue: "notification")
    /// A broker.
    package static let mqtt = DrinkSource(rawValue: "mqtt")
    /// A program over HTTP.
    package static let http = DrinkSource(rawValue: "http")
    /// A program over D-Bus.
    package static let dbus = DrinkSource(rawValue: "dbus")
    /// A health file.
    package static let health = DrinkSource(rawValue: "health")
    /// Water of a session, where that counts for the day.
    package static let session = DrinkSource(rawValue: "session")
}

/// One day's intake: a fold over its stored drinks, never over a batch (A6).
package struct DayIntake: Hashable, Sendable {
    /// The day.
    package var day: LocalDay
    /// Sum of its drinks that count.
    package var totalMl: Int
    /// Drinks that count.
    package var count: Int
    /// The latest of them.
    package var lastDrink: Instant?
    /// The drinks themselves, oldest first, for surfaces that list them; may be left empty.
    package var drinks: [Drink]

    /// Sums that a store computed; they must equal the fold.
    package init(day: LocalDay, totalMl: Int = 0, count: Int = 0, lastDrink: Instant? = nil, drinks: [Drink] = []) {
        self.day = day
        self.totalMl = totalMl
        self.count = count
        self.lastDrink = lastDrink
        self.drinks = drinks
    }

    /// The fold itself. Drinks of other days and those that do not count are left out.
    package init(day: LocalDay, folding drinks: some Sequence<Drink>) {
        let counted = drinks.filter { $0.counts && $0.localDay == day }.sorted(by: Drink.isEarlier)
        self.init(
            day: day, totalMl: counted.reduce(0) { $0.saturatingAdd($1.ml) }, count: counted.count,
            lastDrink: counted.last?.at,
            drinks: counted)
    }
}
