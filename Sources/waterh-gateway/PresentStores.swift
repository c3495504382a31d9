import MQTTSurface
import Store
import Synchronization

/// The stores that a service keeps right now.
final class PresentStores: Sendable {
    private let stores = Mutex<[TrackerStore]>([])

    func are(_ stores: [TrackerStore]) { self.stores.withLock { $0 = stores } }

    /// At which topics brokers keep something of theirs.
    var topics: Set<String> {
        stores.withLock { $0 }.reduce(into: []) { $0.formUnion((try? MQTTOutlet.topics(keptBy: $1)) ?? []) }
    }
}
