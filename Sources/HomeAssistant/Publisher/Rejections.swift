import Logging
import Synchronization
import Utilities

/// The topics and features that a broker rejects, with its reasons. A rejected topic is retried after a growing pause.
final class Rejections: Sendable {
    private struct Rejection {
        var sentence: String
        var backoff = Backoff(first: .seconds(1), longest: .seconds(60))
        var until = ContinuousClock.now
    }

    private struct State {
        var address = ""
        var rejected: [String: Rejection] = [:]
        /// The topics with messages that are too long for the broker and must be split.
        var tooLong: Set<String> = []
    }

    private let state = Mutex(State())
    private let log: Logger

    init(log: Logger) { self.log = log }

    /// Handles a new connection. Rejections by another broker are dropped.
    /// - Parameter limitations: the features that the broker does not support, with its reasons.
    func begin(at address: MQTTAddress, _ limitations: [String: String]) {
        state.withLock { state in
            if state.address != "\(address)" { state = State(address: "\(address)") }
        }
        for subject in ["retained messages", "QoS 1"] { record(subject, limitations[subject], verb: "support") }
    }

    /// One sentence per rejection; `nil` without any.
    var sentences: String? {
        let all = state.withLock { $0.rejected.sorted { $0.key < $1.key }.map(\.value.sentence) }
        return all.isEmpty ? nil : all.joined(separator: " ")
    }

    func isRejected(_ topic: String) -> Bool { state.withLock { $0.rejected[topic] != nil } }
    func canRetry(_ topic: String) -> Bool { state.withLock { $0.rejected[topic].map { $0.until <= .now } ?? true } }
    func isTooLong(_ topic: String) -> Bool { state.withLock { $0.tooLong.contains(topic) } }

    /// Whether the pause of a rejected topic is over.
    func isDue(_ topics: some Sequence<String>) -> Bool {
        state.withLock { state in topics.contains { state.rejected[$0].map { $0.until <= .now } ?? false } }
    }

    /// Records the broker's response for a topic.
    /// - Parameter canSplit: whether a message that is too long can be sent in parts instead.
    func record(_ topic: String, _ delivery: MQTTDelivery, canSplit: Bool = false) {
        switch delivery {
        case .accepted: record(topic, nil)
        case .rejected(_, isTooLong: true) where canSplit: state.withLock { _ = $0.tooLong.insert(topic) }
        case .rejected(let reason, _): record(topic, reason)
        }
    }

    /// Records whether the broker accepts or supports something, such as a topic or QoS 1, and logs a change.
    /// - Parameter reason: the broker's reason; `nil` if it accepted.
    func record(_ subject: String, _ reason: String?, verb: String = "accept") {
        let change: (level: Logger.Level, sentence: String)? = state.withLock { state in
            let broker = "The broker at \(state.address)"
            guard let reason else {
                guard state.rejected.removeValue(forKey: subject) != nil else { return nil }
                return (.notice, "\(broker) \(verb)s \(subject) now.")
            }
            let advice = reason.contains("uthorized") ? " Check its access rules (ACL) for this user." : ""
            let sentence = "\(broker) does not \(verb) \(subject): \(reason).\(advice)"
            var rejection = state.rejected[subject] ?? Rejection(sentence: "")
            rejection.until = .now + rejection.backoff.next(jitter: 1)
            defer { state.rejected[subject] = rejection }
            guard rejection.sentence != sentence else { return nil }
            rejection.sentence = sentence
            return (.warning, sentence)
        }
        if let change { log.log(level: change.level, "MQTT: \(change.sentence)") }
    }
}
