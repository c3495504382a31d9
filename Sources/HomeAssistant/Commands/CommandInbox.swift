import Synchronization
import TrackerCore
import TrackerService

/// Messages from the broker. A command on the store is executed before the broker gets its PUBACK: a command that the
/// broker has confirmed is never lost.
final class CommandInbox: Sendable {
    /// The maximum number of waiting commands on the bottle.
    private static let outsideLimit = 8

    private struct State {
        var connection: MQTTConnection?
        var other: PrefixConflict
        var received = 0
        var warned: Set<String> = []
        var isHomeBack = false
        var isDisturbed = false
    }

    let outside: AsyncStream<CommandRequest>
    private let queue: AsyncStream<CommandRequest>.Continuation
    private let state: Mutex<State>
    private let plan: MQTTPlan
    private let handler: CommandHandler
    private let denials: Denials
    private let say: @Sendable (MQTTPublisher.LogEvent) -> Void
    private let changed: @Sendable () -> Void

    /// - Parameters:
    ///   - id: the store's id at brokers.
    ///   - changed: called after a message that changes what is published.
    init(
        _ plan: MQTTPlan, _ handler: CommandHandler, _ denials: Denials, id: String,
        say: @escaping @Sendable (MQTTPublisher.LogEvent) -> Void, changed: @escaping @Sendable () -> Void
    ) {
        (self.plan, self.handler, self.denials, self.say, self.changed) = (plan, handler, denials, say, changed)
        state = Mutex(State(other: PrefixConflict(plan.topics, own: id)))
        (outside, queue) = AsyncStream.makeStream(
            of: CommandRequest.self, bufferingPolicy: .bufferingOldest(Self.outsideLimit))
    }

    /// The topic of Home Assistant's birth message.
    static func status(_ discovery: String) -> String { "\(discovery)/status" }

    func connect(_ connection: MQTTConnection?) {
        state.withLock { $0.connection = connection }
        if connection == nil { queue.finish() }
    }

    var received: Int { state.withLock { $0.received } }

    /// The id of another store that publishes to the same topics.
    var otherStore: String? { state.withLock { $0.other.id } }

    /// Whether Home Assistant has started, and whether everything is to be published again, since the last call.
    func takeNews() -> (isHomeBack: Bool, isDisturbed: Bool) {
        state.withLock { state in
            defer { (state.isHomeBack, state.isDisturbed) = (false, false) }
            return (state.isHomeBack, state.isDisturbed)
        }
    }

    /// Runs on the connection's thread.
    /// - Throws: an error if the broker must send the message again.
    func take(_ message: MQTTMessage) throws {
        let isOurs = state.withLock { state in
            guard state.other.take(message) else { return false }
            // Another store that stops publishes "offline" here.
            if message.topic == plan.topics.availability, !message.isRetained, message.text != "online" {
                state.isDisturbed = true
            }
            return true
        }
        guard !isOurs else { return changed() }
        state.withLock { $0.received += 1 }
        if let discovery = plan.discovery, message.topic == Self.status(discovery) {
            guard message.text == "online", !message.isRetained else { return }
            state.withLock { ($0.isHomeBack, $0.isDisturbed) = (true, true) }
            return changed()
        }
        guard plan.obeysCommands, message.topic.hasPrefix(plan.topics.prefix + "/cmd/") else { return }
        guard !message.isRetained else {
            // A retained command would be executed again at each connection.
            return warn(
                message.topic,
                "A retained command is ignored (\(message.topic.prefix(200))). Publish it without retain.")
        }
        guard let name = plan.topics.commandName(of: message.topic) else {
            return warn("?", "\(message.topic.prefix(200)) is not a command.")
        }
        let request: CommandRequest
        do { request = try CommandRequest(name: name, payload: message.payload) } catch {
            return answer(name, CommandAnswer(error: error, transaction: nil))
        }
        guard CommandHandler.outside.contains(name) else {
            do { answer(name, try handler.perform(request)) } catch {
                // Only the sender of a message with QoS 0 receives this answer, because other messages are sent again.
                answer(name, CommandAnswer(error: error, transaction: request.transaction))
                throw error
            }
            return changed()
        }
        guard case .dropped = queue.yield(request) else { return }
        let refusal = Refusal("busy", "Too many commands wait for the bottle.", category: .busy)
        answer(name, CommandAnswer(error: refusal, transaction: request.transaction))
    }

    func answer(_ name: String, _ answer: CommandAnswer) {
        let message = MQTTMessage(plan.topics.response(name), answer.text)
        state.withLock { $0.connection }?.post([message]) { [denials] in denials.note($0, $1) }
    }

    private func warn(_ about: String, _ sentence: String) {
        let isNew = state.withLock { state in state.warned.count < 100 && state.warned.insert(about).inserted }
        if isNew { say(.ignored(sentence)) }
    }
}
