/// An entry of a session: an alcoholic drink or water (tracker spec E2).
package struct LogEntry: Hashable, Sendable, Codable, Identifiable {
    package enum Kind: String, Hashable, Sendable, Codable, CaseIterable { case alcohol, water }

    /// A unique id; that of a derived entry contains its session and drink.
    package var id: String
    package var sessionID: String
    package var timestamp: Instant
    package var kind: Kind
    /// The type of drink; `nil` for water.
    package var drinkType: DrinkType?
    /// The volume in US fluid ounces.
    package var sizeOz: Double?
    /// The strength in percent by volume (0–100).
    package var abv: Double?
    /// Standard drinks, rounded to 3 decimals; 1.0 if an alcohol entry has none.
    package var standardDrinkEstimate: Double?
    package var presetID: String?
    /// The volume of a water in US fluid ounces.
    package var amountOz: Double?
    package var source: DrinkSource
    package var updatedAt: Instant
    /// The sequence number, from 1: orders entries of the same millisecond, and shows which ones reminders have
    /// handled.
    package var seq: Int

    package init(
        id: String, sessionID: String, timestamp: Instant, kind: Kind, drinkType: DrinkType? = nil,
        sizeOz: Double? = nil,
        abv: Double? = nil, standardDrinkEstimate: Double? = nil, presetID: String? = nil, amountOz: Double? = nil,
        source: DrinkSource, updatedAt: Instant, seq: Int
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

    /// Whether the entry counts for a moment, as for a drink.
    /// - Parameter moment: `nil` counts all stored entries.
    package func isKnown(at moment: Instant?) -> Bool { moment.map { timestamp <= $0 || updatedAt <= $0 } ?? true }

    /// The estimate in thousandths of a standard drink. Sums of integers are exact.
    var thousandths: Int {
        guard kind == .alcohol else { return 0 }
        return Int((StandardDrinks.rounded(standardDrinkEstimate ?? 1) * 1000).rounded())
    }
}

package enum DrinkType: String, Hashable, Sendable, Codable, CaseIterable { case beer, wine, liquor, cocktail }

/// Standard drinks: a US one is 0.6 oz of pure alcohol.
package enum StandardDrinks {
    /// The valid range of an entry's estimate.
    package static let range = 0.1...10.0

    /// Rounds to 3 decimals, half up, and clamps to 0–1000.
    package static func rounded(_ value: Double) -> Double {
        guard value.isFinite else { return 0 }
        return (min(max(value, 0), 1000) * 1000 + 0.5).rounded(.down) / 1000
    }

    /// The standard drinks by volume and strength: 16 oz at 5 % is 1.333.
    package static func estimate(sizeOz: Double, abvPercent: Double) -> Double {
        rounded(sizeOz * abvPercent / 100 / 0.6)
    }
}
