import Foundation

/// Detects another store that publishes to the same topics.
struct PrefixConflict: Sendable {
    /// The topics to subscribe to, in this order. Availability determines whether a retained `bridge/info` is current.
    static func filters(_ topics: Topics) -> [String] { [topics.availability, topics.bridgeInfo] }

    private struct Info: Decodable { var id: String }

    let topics: Topics
    let ownID: String
    private var isOnline = false
    private(set) var id: String?

    init(_ topics: Topics, ownID: String) { (self.topics, self.ownID) = (topics, ownID) }

    /// Handles a message of the subscribed topics. Returns `false` for messages of other topics.
    mutating func handle(_ message: MQTTMessage) -> Bool {
        switch message.topic {
        case topics.availability:
            if message.isRetained { isOnline = message.text == "online" }
            if message.text == "offline" { id = nil }
        case topics.bridgeInfo:
            let info = try? JSONDecoder().decode(Info.self, from: Data(message.payload))
            if let info, info.id != ownID, !message.isRetained || isOnline { id = String(info.id.prefix(64)) }
        default: return false
        }
        return true
    }
}
