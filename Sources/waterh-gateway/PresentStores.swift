import MQTTSurface
import Store
import Synchronization

/// The stores that a service keeps right now.
final class PresentStores: Sendable {
    private let stores = Mutex<[TrackerStore]>([])

    func are(_ stores: [TrackerStore]) { self.stores.withLock { $0 = stores } }

    /// Whether a phone shows something of one of them at that address as that.
    /// - Parameter path: of a store that is not meant.
    func show(at address: String, as place: String, besides path: String) -> Bool {
        stores.withLock { $0 }.contains { $0.path != path && (try? $0.isShown(at: address, as: place)) == true }
    }

    /// At which topics brokers keep something of theirs.
    var topics: Set<String> {
        stores.withLock { $0 }.reduce(into: []) { $0.formUnion((try? MQTTOutlet.topics(keptBy: $1)) ?? []) }
    }
}
