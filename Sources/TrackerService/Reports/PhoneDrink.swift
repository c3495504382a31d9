import TrackerCore

/// A drink as a phone writes it down.
package struct PhoneDrink: Hashable, Sendable, Encodable {
    /// With which it says that it has.
    package let key: String
    /// With the offset that held there then.
    package let start: String
    /// How much it was.
    package let ml: Int

    init(_ drink: Drink) {
        // A phone's own actions read no fractions.
        let second = Instant(milliseconds: drink.at.wholeSeconds * 1000)
        (key, start, ml) = (drink.key, HealthFiles.dateText(second, (try? Zone(drink.zone)) ?? .utc), drink.ml)
    }
}
