/// A message as a broker carries it.
package struct MQTTMessage: Hashable, Sendable {
    /// What it is about.
    package var topic: String
    /// What it says.
    package var payload: [UInt8]
    /// The broker keeps the last one for who comes later; without a payload it forgets it.
    package var isRetained: Bool
    /// Of what comes: the broker waits to hear that it arrived, and else sends it again.
    package var isConfirmed = true

    /// Quality of service of everything that goes out: at least once.
    static let quality: Int32 = 1
    /// The largest payload of ours.
    package static let payloadLimit = 1 << 18
    /// Of what comes, so much at most is taken: the broker is asked to keep larger packets to itself, and of what it
    /// sends all the same no more than one byte beyond this is handed on.
    package static let incomingLimit = 1 << 16

    /// Bytes under a topic.
    package init(_ topic: String, _ payload: [UInt8], isRetained: Bool = false) {
        (self.topic, self.payload, self.isRetained) = (topic, payload, isRetained)
    }

    /// Text under a topic, as UTF-8.
    package init(_ topic: String, _ text: String, isRetained: Bool = false) {
        self.init(topic, Array(text.utf8), isRetained: isRetained)
    }

    /// The payload as text; `nil` where it is no UTF-8.
    package var text: String? { String(validating: payload, as: UTF8.self) }
}
