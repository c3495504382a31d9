import Store
import TrackerCore
import TrackerService

/// Changes of drinks that the broker has not confirmed, in order.
package struct DrinkChangeQueue: Sendable {
    package struct Message: Hashable, Sendable {
        package var change: DrinkChange
        /// The message as JSON.
        package var text: String
    }

    /// The maximum number of messages per publication.
    package static let batch = 200

    private let store: TrackerStore
    private let outlet: String

    init(_ store: TrackerStore, of outlet: String) { (self.store, self.outlet) = (store, outlet) }

    /// Starts to record drinks for publication.
    /// - Parameter id: the store's id at brokers, if it has none yet.
    package init(opening store: TrackerStore, id: String) throws {
        self.init(store, of: MQTTPublisher.name)
        _ = try store.openOutlet(outlet) { id }
    }

    /// The oldest unconfirmed changes.
    /// - Parameters:
    ///   - now: the time of publication, by the host's clock.
    ///   - seesWaterline: whether Waterline is shared.
    package func due(now: Instant, seesWaterline: Bool, limit: Int = batch) throws -> [Message] {
        try store.changes(for: outlet, limit: limit).map {
            Message(change: $0, text: try TrackerDesk.json(SipPayload($0, now: now, seesWaterline: seesWaterline)))
        }
    }

    /// Confirms all changes up to this one.
    package func confirmed(through sequence: Int64) throws { try store.delivered(outlet, through: sequence) }

    package func waiting() throws -> Int { try store.waiting(for: outlet) }
}
