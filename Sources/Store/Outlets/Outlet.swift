/// Somebody to whom drinks are told one by one, each at least once, in order.
public struct Outlet: Hashable, Sendable {
    /// By which it finds its place again.
    public var name: String
    /// Under which the other end knows this store; made once.
    public var id: String
    /// All changes up to here have arrived there.
    public var position: Int64
}
