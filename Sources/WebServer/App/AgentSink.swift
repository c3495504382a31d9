import NIOCore
package import TrackerCore

/// The notification channel of desktop agents: programs in the user's session that show the notifications of a service
/// without a session (tracker spec C). It offers each notification to one agent at a time, and disconnects an agent
/// that does not respond in time. Only a confirmed notification counts as shown.
package actor AgentSink: NotificationSink {
    /// The time limit for an agent's response.
    static let answerLimit = Duration.seconds(5)
    static let agentLimit = 16
    /// The maximum number of unread events of an agent.
    private static let queueLimit = 64

    private struct Agent {
        var name: String
        var frames: AsyncStream<ByteBuffer>.Continuation
        var disconnectClient: @Sendable () -> Void
    }

    private struct PendingRequest {
        var agent: String
        var id: String
        var answer: CheckedContinuation<Bool, Never>
    }

    package nonisolated let name = "agent"
    package nonisolated let timeLimit = Duration.seconds(12)
    private var agents: [Agent] = []
    private var requests: [UInt64: PendingRequest] = [:]
    private var lastNumber: UInt64 = 0

    package init() {}

    package func canShow() async -> Bool { !agents.isEmpty }

    package func deliver(_ notification: TrackerNotification) async -> Bool {
        for agent in agents where await request(agent, notification.announcement) { return true }
        return false
    }

    package func close(id: String) async { send(EventFrame.bytes("close", .json(["id": id]))) }

    // MARK: - Agents

    /// Adds an agent, and returns the frames of its event stream; `nil` if there are too many agents.
    /// - Parameter page: the page's address for a browser on this machine.
    func attach(
        page: String?, disconnectClient: @escaping @Sendable () -> Void
    ) -> (agent: String, frames: AsyncStream<ByteBuffer>)? {
        guard agents.count < Self.agentLimit else { return nil }
        lastNumber += 1
        let agent = "agent-\(lastNumber)"
        let (frames, continuation) = AsyncStream.makeStream(
            of: ByteBuffer.self, bufferingPolicy: .bufferingNewest(Self.queueLimit))
        agents.append(Agent(name: agent, frames: continuation, disconnectClient: disconnectClient))
        continuation.yield(EventFrame.bytes("hello", .json(Hello(agent: agent, page: page))))
        return (agent, frames)
    }

    private struct Hello: Encodable {
        var agent: String
        var page: String?
    }

    /// Removes an agent; its open requests count as not shown.
    func detach(_ agent: String) {
        guard let index = agents.firstIndex(where: { $0.name == agent }) else { return }
        agents.remove(at: index).frames.finish()
        for (number, request) in requests where request.agent == agent { finish(number, false) }
    }

    /// Handles an agent's response to a request.
    func answer(_ agent: String, _ id: String, isShown: Bool) {
        for (number, request) in requests where request.agent == agent && request.id == id {
            finish(number, isShown)
        }
    }

    func ping() { send(EventFrame.ping) }

    private func request(_ agent: Agent, _ announcement: Announcement) async -> Bool {
        // The agent may have disconnected while another one was queried.
        guard agents.contains(where: { $0.name == agent.name }) else { return false }
        lastNumber += 1
        let number = lastNumber
        let timer = Task {
            guard (try? await Task.sleep(for: Self.answerLimit)) != nil, requests[number] != nil else { return }
            disconnect(agent)
        }
        defer { timer.cancel() }
        return await withCheckedContinuation { continuation in
            requests[number] = PendingRequest(agent: agent.name, id: announcement.id, answer: continuation)
            let frame = EventFrame.bytes("show", .json(announcement))
            if case .dropped = agent.frames.yield(frame) { disconnect(agent) }
        }
    }

    private func send(_ frame: ByteBuffer) {
        for agent in agents {
            if case .dropped = agent.frames.yield(frame) { disconnect(agent) }
        }
    }

    private func disconnect(_ agent: Agent) {
        agent.disconnectClient()
        detach(agent.name)
    }

    private func finish(_ number: UInt64, _ isShown: Bool) {
        requests.removeValue(forKey: number)?.answer.resume(returning: isShown)
    }
}
