import Foundation
import Synchronization

/// What others do at the topics that are ours: what somebody emptied there is said again, and another store that is
/// told there is noticed. What stands in Home Assistant's discovery is left as it is: who deletes a device there means
/// it.
final class OwnTopics: Sendable {
    private struct State {
        /// What stands there by our word.
        var said: Set<String> = []
        var emptied: Set<String> = []
        var stranger: String?
        var isSomebodyThere = false
    }

    private struct Info: Decodable { var id: String }

    private let state = Mutex(State())
    private let topics: Topics
    /// The store's own.
    private let id: String
    private let changed: @Sendable () -> Void

    /// - Parameter changed: called when something came that has to be looked at.
    init(_ topics: Topics, id: String, changed: @escaping @Sendable () -> Void) {
        (self.topics, self.id, self.changed) = (topics, id, changed)
    }

    /// In this order: whether somebody is there is known before who.
    var filters: [String] {
        [topics.availability, topics.bridgeInfo, topics.state, topics.waterline, topics.bottle("+")]
    }

    /// Everything that stands at the broker by our word now.
    func stand(_ all: some Sequence<String>) {
        let all = Set(all)
        state.withLock { $0.said = all }
    }

    /// What somebody emptied since this was asked last.
    func takeEmptied() -> Set<String> {
        state.withLock { state in
            defer { state.emptied = [] }
            return state.emptied
        }
    }

    /// The id of another store that is told at the same topics.
    var stranger: String? { state.withLock { $0.stranger } }

    /// On the connection's thread.
    /// - Returns: whether it is one of these topics.
    func take(_ message: MQTTMessage) -> Bool {
        guard filters.contains(where: { TopicName.matches(message.topic, $0) }) else { return false }
        let isNews = state.withLock { state in
            switch message.topic {
            case topics.availability: availability(message, &state)
            case topics.bridgeInfo where !message.payload.isEmpty: info(message, &state)
            default:
                message.payload.isEmpty && state.said.contains(message.topic)
                    && state.emptied.insert(message.topic).inserted
            }
        }
        if isNews { changed() }
        return true
    }

    private func availability(_ message: MQTTMessage, _ state: inout State) -> Bool {
        let word = message.text ?? ""
        if message.isRetained { state.isSomebodyThere = word == "online" }
        guard word != "online" else { return false }
        // Another one went, and said it in our place.
        if word == "offline", state.stranger != nil {
            state.stranger = nil
            state.emptied.formUnion(state.said)
        }
        return state.said.contains(message.topic) && state.emptied.insert(message.topic).inserted
    }

    private func info(_ message: MQTTMessage, _ state: inout State) -> Bool {
        guard message.payload.count <= MQTTMessage.incomingLimit,
            let other = try? JSONDecoder().decode(Info.self, from: Data(message.payload)), other.id != id
        else { return false }
        // What is left of somebody who went is nobody: that one is said to be offline.
        guard !message.isRetained || state.isSomebodyThere, state.stranger != other.id else { return false }
        state.stranger = String(other.id.prefix(64))
        return true
    }
}
