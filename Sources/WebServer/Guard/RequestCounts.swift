import Synchronization

/// How many answers of each kind were given, for the metrics.
final class RequestCounts: Sendable {
    private let counts = Mutex<[Int: Int]>([:])

    func note(_ status: Int) { counts.withLock { $0[status, default: 0] += 1 } }

    /// By status, in its order.
    var all: [(status: Int, count: Int)] {
        counts.withLock { $0.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
    }
}
