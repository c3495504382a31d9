import Store
import Synchronization
import TrackerCore

/// The broker check of `doctor`, on a separate connection that changes nothing at the broker.
package enum BrokerCheck: Sendable {
    /// The broker accepts the connection, and no other store uses the prefix.
    case good(String)
    /// Another store publishes at the prefix.
    case taken(String)
    /// The check failed. Has a message, and the kind of error for advice.
    case failed(String, MQTTFailure.Kind)

    /// - Parameters:
    ///   - store: read only.
    ///   - nonce: makes the client ID unique.
    package static func ask(_ plan: MQTTPlan, for store: TrackerStore, nonce: String) async -> BrokerCheck {
        let own = (try? store.identity(of: MQTTPublisher.name)) ?? nil
        var options = plan.options(id: "doctor-\(nonce)")
        (options.will, options.isTemporary, options.limit) = (nil, true, .seconds(5))
        let other = Mutex(PrefixConflict(plan.topics, own: own?.id ?? ""))
        do {
            let connection = try await MQTTConnection.open(options) { message in
                _ = other.withLock { $0.take(message) }
            }
            do {
                // Retained messages arrive before the second acknowledgement.
                for _ in 0..<2 {
                    try await connection.subscribe(PrefixConflict.filters(plan.topics), isOwnIgnored: true)
                }
            } catch {
                await connection.close()
                throw error
            }
            await connection.close()
        } catch {
            return .failed(MQTTAdvice.words(error, plan), (error as? MQTTFailure)?.kind ?? .wrongUse)
        }
        if let id = other.withLock({ $0.id }) {
            let place = "\(plan.topics.prefix)/…"
            return .taken(
                "\(plan): accepts the connection, and another store (\(MQTTPlan.client(id))) is published at \(place)")
        }
        // The errors of the running service.
        let trouble = try? store.outletTroubles().first { $0.outlet == MQTTPublisher.name }?.words
        return trouble.flatMap { $0 }.map { .failed($0, .refused) } ?? .good("\(plan): accepts the connection")
    }
}
