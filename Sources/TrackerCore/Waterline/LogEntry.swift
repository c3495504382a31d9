/// One entry of a session: something with alcohol, or water (tracker spec E2).
package struct LogEntry: Hashable, Sendable, Codable, Identifiable {
    /// What was had.
    package enum Kind: String, Hashable, Sendable, Codable, CaseIterable { case alcohol, water }

    /// Made once; a derived entry has its session and its sip in it.
    package var id: String
    /// The session that it belongs to.
    package var sessionID: String
    /// When it was had.
    package var timestamp: Instant
    /// Alcohol or water.
    package var kind: Kind
    /// What kind of drink; `nil` for water.
    package var drinkType: DrinkType?
    /// A drink's volume in US fluid ounces, where it is known.
    package var sizeOz: Double?
    /// Percent by volume, 0–100.
    package var abv: Double?
    /// Standard drinks, rounded to 3 decimals; 1.0 where an alcohol entry has none.
    package var standardDrinkEstimate: Double?
    /// The preset it was logged by, where it was one.
    package var presetID: String?
    /// Water's volume.
    package var amountOz: Double?
    /// Where it was made.
    package var source: LogSource
    /// When it was last changed.
    package var updatedAt: Instant
    /// Insertion sequence, from 1 upwards: settles entries of the same millisecond, and tells what the reminders have
    /// not seen yet.
    package var seq: Int

    /// With its estimate rounded to 3 decimals.
    package init(
        id: String, sessionID: String, timestamp: Instant, kind: Kind, drinkType: DrinkType? = nil,
        sizeOz: Double? = nil,
        abv: Double? = nil, standardDrinkEstimate: Double? = nil, presetID: String? = nil, amountOz: Double? = nil,
        source: LogSource, updatedAt: Instant, seq: Int
    ) {
        self.id = id
        self.sessionID = sessionID
        self.timestamp = timestamp
        self.kind = kind
        self.drinkType = drinkType
        self.sizeOz = sizeOz
        self.abv = abv
        self.standardDrinkEstimate = standardDrinkEstimate.map(StandardDrinks.rounded)
        self.presetID = presetID
        self.amountOz = amountOz
        self.source = source
        self.updatedAt = updatedAt
        self.seq = seq
    }

    /// Whether it counts when one asks for that moment, as for a drink.
    /// - Parameter asked: `nil`: nobody asked for a moment, and all that is stored counts.
    package func isKnown(at asked: Instant?) -> Bool { asked.map { timestamp <= $0 || updatedAt <= $0 } ?? true }

    /// Thousandths of a standard drink: sums of these are exact.
    var thousandths: Int {
        guard kind == .alcohol else { return 0 }
        return Int((StandardDrinks.rounded(standardDrinkEstimate ?? 1) * 1000).rounded())
    }
}

/// What kind of drink with alcohol it was.
package enum DrinkType: String, Hashable, Sendable, Codable, CaseIterable { case beer, wine, liquor, cocktail }

/// Where an entry was made. An open set; the founding names are kept on import.
package struct LogSource: RawRepresentable, Hashable, Sendable, Codable {
    /// The word itself, as it stands in JSON.
    package var rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// The command line.
    package static let cli = LogSource(rawValue: "cli")
    /// A page.
    package static let web = LogSource(rawValue: "web")
    /// A notification's button.
    package static let notification = LogSource(rawValue: "notification")
    /// A broker.
    package static let mqtt = LogSource(rawValue: "mqtt")
    /// A program over HTTP.
    package static let http = LogSource(rawValue: "http")
    /// A program over D-Bus.
    package static let dbus = LogSource(rawValue: "dbus")
    /// Derived from a bottle's sips: recomputed, never edited.
    package static let bottle = LogSource(rawValue: "bottle")
}

/// Standard drinks: a US one is 0.6 oz of pure alcohol.
package enum StandardDrinks {
    /// What a person may enter.
    package static let range = 0.1...10.0

    /// To 3 decimals, halves up; anything outside 0–1000 is brought inside.
    package static func rounded(_ value: Double) -> Double {
        guard value.isFinite else { return 0 }
        return (min(max(value, 0), 1000) * 1000 + 0.5).rounded(.down) / 1000
    }

    /// Size times strength: 16 oz at 5 % is 1.333.
    package static func estimate(sizeOz: Double, abvPercent: Double) -> Double {
        rounded(sizeOz * abvPercent / 100 / 0.6)
    }
}
