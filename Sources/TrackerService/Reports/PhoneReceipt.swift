/// What a phone said that it has.
public struct PhoneReceipt: Hashable, Sendable, Encodable {
    /// How many drinks it said so of for the first time.
    public let noted: Int
}
