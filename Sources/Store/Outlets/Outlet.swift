/// Somebody to whom drinks are told one by one, each at least once, in order.
package struct Outlet: Hashable, Sendable {
    /// By which it finds its place again.
    package var name: String
    /// Under which the other end knows this store; made once.
    package var id: String
    /// All changes up to here have arrived there.
    package var position: Int64
}
