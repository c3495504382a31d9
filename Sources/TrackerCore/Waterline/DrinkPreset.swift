/// A preset for logging a drink in one action (tracker spec E2).
package struct DrinkPreset: Hashable, Sendable, Decodable, Identifiable {
    package var id: String
    package var userID: String
    package var name: String
    package var drinkType: DrinkType
    /// The volume in US fluid ounces; `nil` for a cocktail (K-E5).
    package var sizeOz: Double?
    /// The strength in percent by volume.
    package var abv: Double?
    package var standardDrinkEstimate: Double

    package init(
        id: String, userID: String, name: String, drinkType: DrinkType, sizeOz: Double? = nil, abv: Double? = nil,
        standardDrinkEstimate: Double
    ) {
        self.id = id
        self.userID = userID
        self.name = name
        self.drinkType = drinkType
        self.sizeOz = sizeOz
        self.abv = abv
        self.standardDrinkEstimate = StandardDrinks.rounded(standardDrinkEstimate)
    }

    /// The five presets that setup creates once. The caller creates the ids.
    package static func defaults(userID: String, makeID: () -> String) -> [DrinkPreset] {
        [
            ("Beer", .beer, 12, 1.0), ("Glass of Wine", .wine, 5, 1.0), ("Shot", .liquor, 1.5, 1.0),
            ("Cocktail", .cocktail, nil, 1.0), ("Double", .liquor, 3, 2.0),
        ].map { (name: String, type: DrinkType, size: Double?, estimate: Double) in
            DrinkPreset(
                id: makeID(), userID: userID, name: name, drinkType: type, sizeOz: size, standardDrinkEstimate: estimate
            )
        }
    }
}
