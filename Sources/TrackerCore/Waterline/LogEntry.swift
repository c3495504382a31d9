/// One entry of a session: something with alcohol, or water (tracker law E2).
public struct LogEntry: Hashable, Sendable, Codable, Identifiable {
    /// What was had.
    public enum Kind: String, Hashable, Sendable, Codable, CaseIterable { case alcohol, water }

    /// Made once; a derived entry has its session and its sip in it.
    public var id: String
    public var sessionID: String
    public var timestamp: Instant
    public var kind: Kind
    public var drinkType: DrinkType?
    public var sizeOz: Double?
    /// Percent by volume, 0–100.
    public var abv: Double?
    /// Standard drinks, rounded to 3 decimals; 1.0 where an alcohol entry has none.
    public var standardDrinkEstimate: Double?
    public var presetID: String?
    /// Water's volume.
    public var amountOz: Double?
    public var source: LogSource
    public var updatedAt: Instant
    /// Insertion sequence, from 1 upwards: settles entries of the same millisecond, and tells what the reminders have not seen yet.
    public var seq: Int

    public init(
        id: String, sessionID: String, timestamp: Instant, kind: Kind, drinkType: DrinkType? = nil, sizeOz: Double? = nil,
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
    public func isKnown(at asked: Instant?) -> Bool { asked.map { timestamp <= $0 || updatedAt <= $0 } ?? true }

    /// Thousandths of a standard drink: sums of these are exact.
    var thousandths: Int {
        guard kind == .alcohol else { return 0 }
        return Int((StandardDrinks.rounded(standardDrinkEstimate ?? 1) * 1000).rounded())
    }
}

/// What kind of drink with alcohol it was.
public enum DrinkType: String, Hashable, Sendable, Codable, CaseIterable { case beer, wine, liquor, cocktail }

/// Where an entry was made. An open set; the founding names are kept on import.
public struct LogSource: RawRepresentable, Hashable, Sendable, Codable {
    public var rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let cli = LogSource(rawValue: "cli")
    public static let web = LogSource(rawValue: "web")
    public static let notification = LogSource(rawValue: "notification")
    public static let mqtt = LogSource(rawValue: "mqtt")
    public static let http = LogSource(rawValue: "http")
    public static let dbus = LogSource(rawValue: "dbus")
    /// Derived from a bottle's sips: recomputed, never edited.
    public static let bottle = LogSource(rawValue: "bottle")
}

/// Standard drinks: a US one is 0.6 oz of pure alcohol.
public enum StandardDrinks {
    /// What a person may enter.
    public static let range = 0.1...10.0

    /// To 3 decimals, halves up; anything outside 0–1000 is brought inside.
    public static func rounded(_ value: Double) -> Double {
        guard value.isFinite else { return 0 }
        return (min(max(value, 0), 1000) * 1000 + 0.5).rounded(.down) / 1000
    }

    /// Size times strength: 16 oz at 5 % is 1.333.
    public static func estimate(sizeOz: Double, abvPercent: Double) -> Double { rounded(sizeOz * abvPercent / 100 / 0.6) }
}
