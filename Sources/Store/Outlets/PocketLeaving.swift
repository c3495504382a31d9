/// What may be shown on a phone and nobody owns any more: the store was purged.
public struct PocketLeaving: Hashable, Sendable {
    /// Of the topic at which it is shown.
    public var address: String
    /// What it is called there.
    public var place: String
    /// What lets us in there; `nil`: nothing that is known.
    public var token: String?
    /// For how long services have tried to take it back, seconds.
    public var tried: Int

    public init(address: String, place: String, token: String? = nil, tried: Int = 0) {
        (self.address, self.place, self.token, self.tried) = (address, place, token, tried)
    }
}
