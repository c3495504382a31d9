/// What a phone has not yet.
public struct PhoneDrinks: Hashable, Sendable, Encodable {
    /// Oldest first.
    public let drinks: [PhoneDrink]
    /// There are more: ask again when these are noted.
    public let hasMore: Bool
}
