import TrackerCore

/// A drink that is logged in one action.
package struct PresetReport: Hashable, Sendable, Encodable {
    /// The preset.
    package let preset: DrinkPreset

    package init(_ preset: DrinkPreset) { self.preset = preset }

    enum CodingKeys: String, CodingKey { case id, name, drinkType, sizeOz, abv, standardDrinkEstimate }

    package func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: CodingKeys.self)
        try keys.encode(preset.id, forKey: .id)
        try keys.encode(preset.name, forKey: .name)
        try keys.encode(preset.drinkType.rawValue, forKey: .drinkType)
        try keys.encode(preset.sizeOz, forKey: .sizeOz)
        try keys.encode(preset.abv, forKey: .abv)
        try keys.encode(preset.standardDrinkEstimate, forKey: .standardDrinkEstimate)
    }
}

/// All presets, in the order they were made.
package struct PresetList: Hashable, Sendable, Encodable {
    /// In the order in which they were made.
    package let presets: [PresetReport]
}
