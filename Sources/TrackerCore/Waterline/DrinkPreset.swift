/// A drink that is logged in one action (tracker spec E2).
package struct DrinkPreset: Hashable, Sendable, Codable, Identifiable {
    /// Made once.
    package var id: String
    /// Whose preset it is.
    package var userID: String
    /// What the person calls it.
    package var name: String
    /// What kind of drink it is.
    package var drinkType: DrinkType
    /// A cocktail has no size of its own (K-E5).
    package var sizeOz: Double?
    /// Percent by volume.
    package var abv: Double?
    /// How many standard drinks it is.
    package var standardDrinkEstimate: Double

    /// With its estimate rounded to 3 decimals.
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

    /// The five that setup creates once; deleted ones stay deleted. Ids are made by the caller.
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
