import Logging
import Synchronization
import TrackerCore
import TrackerService

/// Handles the broker's messages. A command on the store is executed before the broker gets its PUBACK, so that no
/// command is lost if the process ends.
final class CommandInbox: Sendable {
    /// The maximum number of queued commands for the service.
    private static let serviceRequestLimit = 8

    private struct State {
        var connection: MQTTConnection?
        var prefixConflict: PrefixConflict
        var received = 0
        var reported: Set<String> = []
        var isHomeAssistantStarted = false
        var mustRepublish = false
    }

    let requests: AsyncStream<CommandRequest>
    private let queue: AsyncStream<CommandRequest>.Continuation
    private let state: Mutex<State>
    private let plan: MQTTPlan
    private let handler: CommandHandler
    private let rejections: Rejections
    private let log: Logger
    private let changed: @Sendable () -> Void

    /// - Parameters:
    ///   - id: the store's id at brokers.
    ///   - changed: called after a message that changes what is published.
    init(
        _ plan: MQTTPlan, _ handler: CommandHandler, _ rejections: Rejections, id: String,
        log: Logger, changed: @escaping @Sendable () -> Void
    ) {
        (self.plan, self.handler, self.rejections, self.log, self.changed) = (plan, handler, rejections, log, changed)
        state = Mutex(State(prefixConflict: PrefixConflict(plan.topics, ownID: id)))
        (requests, queue) = AsyncStream.makeStream(
            of: CommandRequest.self, bufferingPolicy: .bufferingOldest(Self.serviceRequestLimit))
    }

    /// The topic of Home Assistant's birth message.
    static func status(_ discovery: String) -> String { "\(discovery)/status" }

    func connect(_ connection: MQTTConnection?) {
        state.withLock { $0.connection = connection }
        if connection == nil { queue.finish() }
    }

    var received: Int { state.withLock { $0.received } }

    /// The id of another store that publishes to the same topics.
    var otherStore: String? { state.withLock { $0.prefixConflict.id } }

    /// Whether Home Assistant has started since the last call, and whether everything must be published again.
    func takeEvents() -> (isHomeAssistantStarted: Bool, mustRepublish: Bool) {
        state.withLock { state in
            defer { (state.isHomeAssistantStarted, state.mustRepublish) = (false, false) }
            return (state.isHomeAssistantStarted, state.mustRepublish)
        }
    }

    /// Handles a message on the connection's thread.
    /// - Throws: an error if the broker must send the message again.
    func handle(_ message: MQTTMessage) throws {
        let isStatusMessage = state.withLock { state in
            guard state.prefixConflict.handle(message) else { return false }
            // Another store with the same prefix publishes "offline" when it stops.
            if message.topic == plan.topics.availability, !message.isRetained, message.text != "online" {
                state.mustRepublish = true
            }
            return true
        }
        guard !isStatusMessage else { return changed() }
        state.withLock { $0.received += 1 }
        if let discovery = plan.discovery, message.topic == Self.status(discovery) {
            guard message.text == "online", !message.isRetained else { return }
            state.withLock { ($0.isHomeAssistantStarted, $0.mustRepublish) = (true, true) }
            return changed()
        }
        guard plan.acceptsCommands, message.topic.hasPrefix(plan.topics.prefix + "/cmd/") else { return }
        guard !message.isRetained else {
            // A retained command would be executed again at each connection.
            return warn(
                message.topic,
                "Ignored a retained message on \(message.topic.prefix(200)): commands must not be retained.")
        }
        guard let name = plan.topics.commandName(of: message.topic) else {
            return warn("?", "Ignored a message: \(message.topic.prefix(200)) is not the topic of a command.")
        }
        let request: CommandRequest
        do { request = try CommandRequest(name: name, payload: message.payload) } catch {
            return answer(name, CommandAnswer.failure(error, transaction: nil))
        }
        guard CommandHandler.serviceCommands.contains(name) else {
            do { answer(name, try handler.perform(request)) } catch {
                // With QoS 1 the broker sends the message again, and the command gets another response.
                answer(name, CommandAnswer.failure(error, transaction: request.transaction))
                throw error
            }
            return changed()
        }
        guard case .dropped = queue.yield(request) else { return }
        let refusal = Refusal("busy", "Too many commands are queued. Nothing was executed.", category: .busy)
        answer(name, CommandAnswer.failure(refusal, transaction: request.transaction))
    }

    func answer(_ name: String, _ answer: String) {
        let message = MQTTMessage(plan.topics.response(name), answer)
        state.withLock { $0.connection }?.post([message]) { [rejections] in rejections.record($0, $1) }
    }

    private func warn(_ subject: String, _ sentence: String) {
        let isNew = state.withLock { state in state.reported.count < 100 && state.reported.insert(subject).inserted }
        if isNew { log.warning("MQTT: \(sentence)") }
    }
}
