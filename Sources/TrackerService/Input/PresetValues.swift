import TrackerCore

/// What a preset is to be; whatever is `nil` stays, or takes its default.
public struct PresetValues: Hashable, Sendable {
    /// What the person calls it, 1 to 64 characters.
    public var name: String?
    /// What kind of drink it is.
    public var type: DrinkType?
    /// Its volume in US fluid ounces.
    public var sizeOz: Double?
    /// Percent by volume.
    public var abv: Double?
    /// Standard drinks; where none is given, they follow from size and strength.
    public var estimate: Double?
    /// What the preset is to have no longer.
    public var without: Set<Part> = []

    /// What a preset may lack.
    public enum Part: Hashable, Sendable { case size, strength }

    public init(
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
