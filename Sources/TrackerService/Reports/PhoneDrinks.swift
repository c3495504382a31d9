/// What a phone has not yet.
package struct PhoneDrinks: Hashable, Sendable, Encodable {
    /// Oldest first.
    package let drinks: [PhoneDrink]
    /// There are more: ask again when these are noted.
    package let hasMore: Bool
}
