/// What a phone said that it has.
package struct PhoneReceipt: Hashable, Sendable, Encodable {
    /// How many drinks it said so of for the first time.
    package let noted: Int
}
