import Synchronization
import TrackerCore

/// Programs in a person's session that show for a service that has none (tracker law C). What one of them is asked to
/// show goes to no other until it has said no, or said nothing for too long: then it is hung up. Only what one says
/// that it has shown counts.
package actor AgentSink: NotificationSink {
    enum Event: Sendable {
        case hello(agent: String)
        case show(Announcement)
        case close(String)
        case ping
    }

    /// For an agent's answer.
    static let answerLimit = Duration.seconds(5)
    /// So many at once; another has to wait until one goes.
    static let agentLimit = 16
    /// An agent that is so many events behind does not read.
    private static let queueLimit = 64

    private struct Agent {
        var name: String
        var events: AsyncStream<Event>.Continuation
        var hangUp: @Sendable () -> Void
    }

    private struct Question {
        var agent: String
        var id: String
        var answer: CheckedContinuation<Bool, Never>
    }

    /// Always `agent`.
    package nonisolated let name = "agent"
    /// For all programs together.
    package nonisolated let limit = Duration.seconds(12)
    /// In the order of coming.
    private var agents: [Agent] = []
    private var questions: [UInt64: Question] = [:]
    private var lastNumber: UInt64 = 0

    /// With nobody there.
    package init() {}

    package func canShow() async -> Bool { !agents.isEmpty }

    package func deliver(_ notification: TrackerNotification) async -> Bool {
        for agent in agents where await ask(agent, notification.announcement) { return true }
        return false
    }

    package func close(id: String) async { tell(.close(id)) }

    // MARK: - Agents

    /// - Returns: `nil` where there are too many already.
    func attach(hangUp: @escaping @Sendable () -> Void) -> (agent: String, events: AsyncStream<Event>)? {
        guard agents.count < Self.agentLimit else { return nil }
        lastNumber += 1
        let agent = "agent-\(lastNumber)"
        let (events, continuation) = AsyncStream.makeStream(
            of: Event.self, bufferingPolicy: .bufferingNewest(Self.queueLimit))
        agents.append(Agent(name: agent, events: continuation, hangUp: hangUp))
        continuation.yield(.hello(agent: agent))
        return (agent, events)
    }

    /// It has gone, or is to go: what it was asked is answered with no.
    func leave(_ agent: String) {
        guard let index = agents.firstIndex(where: { $0.name == agent }) else { return }
        agents.remove(at: index).events.finish()
        for (number, question) in questions where question.agent == agent { finish(number, false) }
    }

    /// What an agent says of something that it was asked to show.
    func answer(_ agent: String, _ id: String, isShown: Bool) {
        for (number, question) in questions where question.agent == agent && question.id == id {
            finish(number, isShown)
        }
    }

    /// A sign of life to everybody.
    func ping() { tell(.ping) }

    private func ask(_ agent: Agent, _ announcement: Announcement) async -> Bool {
        // It may have gone while another was asked.
        guard agents.contains(where: { $0.name == agent.name }) else { return false }
        lastNumber += 1
        let number = lastNumber
        let timer = Task {
            guard (try? await Task.sleep(for: Self.answerLimit)) != nil, questions[number] != nil else { return }
            hangUp(agent)
        }
        defer { timer.cancel() }
        return await withCheckedContinuation { continuation in
            questions[number] = Question(agent: agent.name, id: announcement.id, answer: continuation)
            if case .dropped = agent.events.yield(.show(announcement)) { hangUp(agent) }
        }
    }

    private func tell(_ event: Event) {
        for agent in agents {
            if case .dropped = agent.events.yield(event) { hangUp(agent) }
        }
    }

    private func hangUp(_ agent: Agent) {
        agent.hangUp()
        leave(agent.name)
    }

    private func finish(_ number: UInt64, _ isShown: Bool) {
        questions.removeValue(forKey: number)?.answer.resume(returning: isShown)
    }
}
