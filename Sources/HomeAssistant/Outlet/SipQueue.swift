import Store
import TrackerCore
import TrackerService

/// What a store has to tell a broker of its drinks: in order, each until the broker has confirmed it. Nothing else
/// decides what is told, and when it is behind us.
package struct SipQueue: Sendable {
    /// One drink, or one change of one, as it is said.
    package struct Message: Hashable, Sendable {
        /// What was written, with its place in the order in which the store was.
        package var change: DrinkChange
        /// The payload: JSON.
        package var text: String
    }

    /// So many drinks are under way at once: what is not confirmed is told again by the next connection.
    package static let batch = 200

    private let store: TrackerStore
    private let outlet: String

    init(_ store: TrackerStore, of outlet: String) { (self.store, self.outlet) = (store, outlet) }

    /// From here on every drink of the store is told.
    /// - Parameter id: under which brokers are to know the store, where they do not yet.
    package init(opening store: TrackerStore, id: String) throws {
        self.init(store, of: MQTTOutlet.name)
        _ = try store.openOutlet(outlet) { id }
    }

    /// What the broker has not confirmed yet, oldest first, `batch` at most.
    /// - Parameters:
    ///   - now: when it is told, by the host's clock.
    ///   - seesWaterline: whether sessions are shown beyond this machine.
    package func due(now: Instant, seesWaterline: Bool) throws -> [Message] {
        try store.changes(for: outlet, limit: Self.batch).map {
            Message(change: $0, text: try TrackerDesk.json(SipPayload($0, now: now, seesWaterline: seesWaterline)))
        }
    }

    /// All up to this one are at the broker.
    package func confirmed(through sequence: Int64) throws { try store.delivered(outlet, through: sequence) }

    /// How many the broker has not confirmed yet.
    package func waiting() throws -> Int { try store.waiting(for: outlet) }
}
