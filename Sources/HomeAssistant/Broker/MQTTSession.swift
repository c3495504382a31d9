import Foundation

/// One connection with a broker, from its first word to its end; after that a new one is made. The session stays with
/// the broker: what was asked for and what came meanwhile is there when the same client comes back (clean session off).
/// It is MQTT 5, or 3.1.1 with brokers that know no other.
package final class MQTTSession: Sendable {
    private let loop: MQTTLoop

    /// - Parameter receive: called for each message on the connection's own thread; the broker hears that it arrived
    ///   when this returns.
    /// - Throws: `MQTTFailure` where it cannot even be tried.
    package init(_ options: MQTTOptions, receive: @escaping @Sendable (MQTTMessage) -> Void) throws(MQTTFailure) {
        loop = try MQTTLoop(options, receive: receive)
        let loop = loop
        let thread = Thread { loop.run() }
        thread.name = "mqtt"
        thread.start()
    }

    deinit { loop.order(.close) { _ in } }

    /// Waits until the broker has let us in.
    /// - Returns: whether it still knew us.
    package func connected() async throws(MQTTFailure) -> Bool { try await answer(to: .connection) }

    /// Asks for topics; waits until the broker has agreed.
    package func subscribe(_ filters: [String]) async throws(MQTTFailure) {
        _ = try await answer(to: .subscribe(filters))
    }

    /// Asks for what others say at these topics while we are here: what comes while we are away is not kept for us. A
    /// broker that knows no MQTT 5 sends back what we say there ourselves, too.
    package func watch(_ filters: [String]) async throws(MQTTFailure) { _ = try await answer(to: .watch(filters)) }

    /// Sends messages in this order, and waits until the broker has all of them.
    /// - Returns: `false` where the broker says that nobody listens there, as those of MQTT 5 do.
    @discardableResult
    package func publish(_ messages: [MQTTMessage]) async throws(MQTTFailure) -> Bool {
        guard !messages.isEmpty else { return true }
        return try await answer(to: .publish(messages))
    }

    /// Sends messages without waiting. Who is called by `receive` may use it.
    package func post(_ messages: [MQTTMessage]) { loop.order(.publish(messages)) { _ in } }

    /// By who is called by `receive`, there: the broker does not hear that this message arrived
    /// (`MQTTMessage.isConfirmed`), and sends it again to the client's next connection. This one ends.
    /// - Returns: `false` where that cannot be: others came just before, and would come again with it.
    package func leaveUndone() -> Bool { loop.leaveUndone() }

    /// Whoever is asked to end need not do first what waits at the broker: where another message comes, the connection
    /// breaks off, and the next one gets it. The last will is said then.
    package func hurry() { loop.hurry() }

    /// Says good-bye; the last will stays unsaid.
    package func close() async {
        loop.order(.close) { _ in }
        _ = await ended()
    }

    /// Why it is over; `nil` while it goes on.
    package var failure: MQTTFailure? { loop.end }

    /// Waits for the end of the connection.
    package func ended() async -> MQTTFailure {
        let end: Result<Bool, MQTTFailure> = await withCheckedContinuation { continuation in
            loop.order(.end) { continuation.resume(returning: $0) }
        }
        switch end {
        case .failure(let failure): return failure
        case .success: return MQTTFailure(.closed, "The connection was closed.")
        }
    }

    private func answer(to order: MQTTLoop.Order) async throws(MQTTFailure) -> Bool {
        let answer: Result<Bool, MQTTFailure> = await withCheckedContinuation { continuation in
            loop.order(order) { continuation.resume(returning: $0) }
        }
        return try answer.get()
    }
}
