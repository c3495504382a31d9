/// A stored drink. Its day does not change when the user travels (tracker spec T).
package struct Drink: Hashable, Sendable, Codable, Identifiable {
    /// The permanent key: `Drink.bottleKey` for a bottle's record, otherwise a unique id.
    package var key: String
    package var at: Instant
    /// The IANA id of the time zone in which the drink was stored.
    package var zone: String
    /// The local day, computed when the drink was stored.
    package var localDay: LocalDay
    /// The amount in millilitres. A drink of 0 ml is stored and not counted.
    package var ml: Int
    package var source: DrinkSource
    /// Whether the drink is deleted. It stays as a tombstone, so that the next poll does not add it again.
    package var isDeleted: Bool
    package var updatedAt: Instant

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

    package init(key: String, at: Instant, calendar: DayCalendar, ml: Int, source: DrinkSource, updatedAt: Instant) {
        self.init(
            key: key, at: at, zone: calendar.zone.id, localDay: calendar.day(of: at), ml: ml, source: source,
            updatedAt: updatedAt)
    }

    package var counts: Bool { !isDeleted && ml > 0 }

    /// Whether the drink counts at `moment` (`--now`): it was drunk or stored by then. The second condition
    /// is for a bottle whose clock is ahead.
    /// - Parameter moment: `nil` counts all stored drinks.
    package func isKnown(at moment: Instant?) -> Bool { moment.map { at <= $0 || updatedAt <= $0 } ?? true }

    /// The key of a bottle's drink (A6): the bottle, the record's wall-clock time and the amount. It does not depend on
    /// the instant, on bytes of unknown meaning, or on the time of arrival.
    /// - Parameters:
    ///   - bottle: the first known identity. A new name changes no key.
    ///   - wall: `yyyy-MM-ddTHH:mm:ss` of the record with its year, or the raw bytes of a record without one.
    package static func bottleKey(bottle: String, wall: String, amountMl: Int) -> String {
        "\(bottle)|\(wall)|\(amountMl)"
    }

    /// The order of the history: by instant, then by key.
    package static func isEarlier(_ left: Drink, _ right: Drink) -> Bool { (left.at, left.key) < (right.at, right.key) }

    /// The valid range of manually logged amounts in millilitres (tracker spec D1).
    package static let manualMl = 1...2000
}

/// The source of a drink or of a session's entry. Imports keep the names of other programs.
package struct DrinkSource: RawRepresentable, Hashable, Sendable, Codable {
    package var rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// The bottle's records. A session's entry of this source is derived from them, and never edited.
    package static let bottle = DrinkSource(rawValue: "bottle")
    package static let cli = DrinkSource(rawValue: "cli")
    package static let web = DrinkSource(rawValue: "web")
    package static let notification = DrinkSource(rawValue: "notification")
    package static let mqtt = DrinkSource(rawValue: "mqtt")
    package static let http = DrinkSource(rawValue: "http")
    package static let dbus = DrinkSource(rawValue: "dbus")
    package static let health = DrinkSource(rawValue: "health")
    /// Water of a Waterline session that counts for the day.
    package static let session = DrinkSource(rawValue: "session")
}

/// The intake of one day: the sum of its stored drinks (A6).
package struct DayIntake: Hashable, Sendable {
    package var day: LocalDay
    package var totalMl: Int
    package var count: Int
    package var lastDrink: Instant?
    package var drinks: [Drink]

    /// Uses sums that the store computed. They must equal the sums of `drinks`.
    package init(day: LocalDay, totalMl: Int = 0, count: Int = 0, lastDrink: Instant? = nil, drinks: [Drink] = []) {
        self.day = day
        self.totalMl = totalMl
        self.count = count
        self.lastDrink = lastDrink
        self.drinks = drinks
    }

    /// Adds up the counted drinks of the day and ignores all others.
    package init(day: LocalDay, folding drinks: some Sequence<Drink>) {
        let counted = drinks.filter { $0.counts && $0.localDay == day }.sorted(by: Drink.isEarlier)
        self.init(
            day: day, totalMl: counted.reduce(0) { $0.saturatingAdd($1.ml) }, count: counted.count,
            lastDrink: counted.last?.at,
            drinks: counted)
    }
}
