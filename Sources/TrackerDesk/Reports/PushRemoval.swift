/// A browser that gets nothing any more.
public struct PushRemoval: Hashable, Sendable, Encodable {
    /// Its id.
    public let removed: String
}
