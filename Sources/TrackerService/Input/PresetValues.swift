import TrackerCore

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
