package import Store
import Synchronization
package import TrackerCore

/// The result of the broker check of `doctor`, which uses a separate connection and changes nothing at the broker.
package enum BrokerCheck: Sendable {
    /// The broker accepts the connection, and no other store uses the prefix.
    case good(String)
    /// Another store publishes at the prefix.
    case prefixTaken(String)
    /// The check failed. Has a message, and the kind of error for advice.
    case failed(String, MQTTFailure.Kind)
    /// The broker accepts the connection of the check. The running service has recorded this error.
    case serviceError(String)

    /// Connects to the broker of the settings and checks whether another store publishes at the prefix.
    /// - Parameters:
    ///   - store: read only.
    ///   - overlay: applies the configuration to the settings.
    ///   - nonce: makes the client ID unique.
    /// - Returns: the result; `nil` if the settings name no broker.
    package static func run(
        _ store: TrackerStore, overlay: (Settings) throws -> Settings, nonce: String
    ) async throws -> BrokerCheck? {
        guard let plan = try MQTTPlan(overlay(store.settings()).service) else { return nil }
        let identity = (try? store.identity(of: MQTTPublisher.name)) ?? nil
        var options = plan.options(id: "doctor-\(nonce)")
        (options.will, options.isTemporary, options.limit) = (nil, true, .seconds(5))
        let conflict = Mutex(PrefixConflict(plan.topics, ownID: identity?.id ?? ""))
        do {
            let connection = try await MQTTConnection.open(options) { message in
                _ = conflict.withLock { $0.handle(message) }
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
            let message = MQTTAdvice.message(error, plan)
            guard let failure = error as? MQTTFailure else { return .failed(message, .invalid) }
            return .failed(message, MQTTAdvice.hasNoTLS(failure) ? .closedBeforeResponse : failure.kind)
        }
        if let id = conflict.withLock({ $0.id }) {
            let topics = "\(plan.topics.prefix)/…"
            return .prefixTaken(
                "\(plan): accepts the connection, and another store (\(MQTTPlan.client(id))) is published at \(topics)")
        }
        let problem = try? store.publisherErrors().first { $0.publisher == MQTTPublisher.name }?.message
        return problem.flatMap { $0 }.map { .serviceError($0) } ?? .good("\(plan): accepts the connection")
    }
}
