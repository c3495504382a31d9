import Store
import TrackerCore

/// What a broker says to who only asks: a connection of its own, of which nothing is left there.
package enum BrokerCheck: Sendable {
    /// It lets us in, and the prefix is the store's own, or nobody's.
    case good(String)
    /// It lets us in, and another store is told where this one would be.
    case taken(String)
    /// In words; what a program may tell apart is the kind.
    case failed(String, MQTTFailure.Kind)

    /// So long it may take.
    private static let limit = Duration.seconds(5)

    /// Asks. Returns within ten seconds.
    /// - Parameters:
    ///   - store: only looked at.
    ///   - nonce: tells who asks now from who asks elsewhere.
    package static func ask(_ plan: MQTTPlan, for store: TrackerStore, nonce: String) async -> BrokerCheck {
        let own = (try? store.identity(of: MQTTOutlet.name)) ?? nil
        var options = plan.options(id: "doctor-\(nonce)")
        (options.will, options.isForNow, options.limit) = (nil, true, limit)
        let seen = OwnTopics(plan.topics, id: own?.id ?? "") {}
        do {
            let session = try MQTTSession(options) { _ = seen.take($0) }
            do {
                _ = try await session.connected()
                // What is kept there has come before the second answer has.
                for _ in 0..<2 { try await session.watch(seen.filters) }
            } catch {
                await session.close()
                throw error
            }
            await session.close()
        } catch {
            return .failed(MQTTAdvice.words(error, plan), (error as? MQTTFailure)?.kind ?? .wrongUse)
        }
        guard let stranger = seen.stranger else { return .good("\(plan): lets us in") }
        return .taken(
            """
            \(plan): lets us in, and another store (\(MQTTPlan.client(stranger))) is published at \
            \(plan.topics.prefix)/…
            """
        )
    }
}
