import Synchronization
import TrackerCore
import TrackerService

/// What comes from the broker. A command on the store is done before the broker hears that it arrived: one that was
/// heard is never lost.
final class CommandInbox: Sendable {
    /// So many commands that reach beyond the store may wait.
    private static let outsideLimit = 8

    private struct State {
        var session: MQTTSession?
        var received = 0
        var warned: Set<String> = []
        var isHomeBack = false
    }

    let outside: AsyncStream<CommandRequest>
    private let queue: AsyncStream<CommandRequest>.Continuation
    private let state = Mutex(State())
    private let plan: MQTTPlan
    private let desk: CommandDesk
    private let say: @Sendable (MQTTOutlet.Word) -> Void
    private let changed: @Sendable () -> Void
    private let own: OwnTopics

    /// - Parameters:
    ///   - own: hears what others say at topics of ours.
    ///   - changed: called when something came that others have to hear of.
    init(
        _ plan: MQTTPlan, _ desk: CommandDesk, own: OwnTopics, say: @escaping @Sendable (MQTTOutlet.Word) -> Void,
        changed: @escaping @Sendable () -> Void
    ) {
        (self.plan, self.desk, self.own, self.say, self.changed) = (plan, desk, own, say, changed)
        (outside, queue) = AsyncStream.makeStream(
            of: CommandRequest.self, bufferingPolicy: .bufferingOldest(Self.outsideLimit))
    }

    /// Where Home Assistant says that it has started.
    static func status(_ discovery: String) -> String { "\(discovery)/status" }

    func connect(_ session: MQTTSession?) {
        state.withLock { $0.session = session }
        if session == nil { queue.finish() }
    }

    var received: Int { state.withLock { $0.received } }

    /// Home Assistant has started since this was asked last.
    func takeHomeIsBack() -> Bool {
        state.withLock { state in
            defer { state.isHomeBack = false }
            return state.isHomeBack
        }
    }

    /// On the connection's thread.
    func take(_ message: MQTTMessage) {
        guard !own.take(message) else { return }
        state.withLock { $0.received += 1 }
        if let discovery = plan.discovery, message.topic == Self.status(discovery) {
            guard message.text == "online", !message.isRetained else { return }
            state.withLock { $0.isHomeBack = true }
            return changed()
        }
        guard plan.obeysCommands, message.topic.hasPrefix(plan.topics.prefix + "/cmd/") else { return }
        guard !message.isRetained else {
            // It would be done again at each connection.
            return warn(
                message.topic,
                """
                A message that the broker keeps at \(message.topic.prefix(200)) is not obeyed: commands are not to \
                be retained.
                """
            )
        }
        guard let name = plan.topics.commandName(of: message.topic) else {
            return warn("?", "Something came at \(message.topic.prefix(200)), which is no command.")
        }
        let request: CommandRequest
        do {
            request = try CommandRequest(name: name, payload: message.payload)
        } catch {
            return answer(name, CommandAnswer(error, transaction: nil))
        }
        guard CommandDesk.outside.contains(name) else {
            let done = desk.perform(request)
            // A button that was pressed is not pressed again because of an answer that nobody reads.
            if done.isHeldUp, message.isConfirmed, state.withLock({ $0.session })?.leaveUndone() == true { return }
            answer(name, done.answer)
            if done.hasChanged { changed() }
            return
        }
        if case .dropped = queue.yield(request) {
            answer(
                name,
                CommandAnswer(
                    Refusal("busy", "Too many commands wait for the bottle.", category: .busy),
                    transaction: request.transaction))
        }
    }

    func answer(_ name: String, _ answer: CommandAnswer) {
        let session = state.withLock { $0.session }
        session?.post([MQTTMessage(plan.topics.response(name), answer.text)])
    }

    private func warn(_ about: String, _ sentence: String) {
        let isNew = state.withLock { state in state.warned.count < 100 && state.warned.insert(about).inserted }
        if isNew { say(.ignored(sentence)) }
    }
}
