/// The connection to the bottle (tracker spec A8).
package enum ConnectionState: Hashable, Sendable {
    case disconnected, scanning, connecting, connected, polling
    case error(ConnectionProblem)

    /// The name: `disconnected` … `polling`, `error`.
    package var name: String {
        switch self {
        case .disconnected: "disconnected"
        case .scanning: "scanning"
        case .connecting: "connecting"
        case .connected: "connected"
        case .polling: "polling"
        case .error: "error"
        }
    }
}

/// The reason why a poll failed. A failed poll never changes stored drinks.
package enum ConnectionProblem: Error, Hashable, Sendable, CustomStringConvertible {
    case bottleNotFound
    case bluetoothOff
    case permissionDenied
    case noAdapter
    /// The connection was rejected or timed out, with the link's message.
    case failedToConnect(String?)
    case unexpectedResponse
    /// The time limit of the whole poll has passed.
    case noAnswer
    /// The connection was lost. Records without acknowledgement are still in the bottle.
    case connectionLost(String?)
    /// Another bottle answered.
    case notOurs
    /// The host's clock contradicts the store or the bottle. Nothing was acknowledged.
    case clockDoubtful

    package var description: String {
        switch self {
        case .bottleNotFound: "Bottle not found"
        case .bluetoothOff: "Bluetooth is off"
        case .permissionDenied: "Bluetooth permission denied"
        case .noAdapter: "No Bluetooth adapter"
        case .failedToConnect: "Failed to connect"
        case .unexpectedResponse: "Unexpected bottle response"
        case .noAnswer: "Bottle did not answer"
        case .connectionLost: "Connection lost"
        case .notOurs: "Not this store's bottle"
        case .clockDoubtful: "The clocks disagree"
        }
    }

    /// The advice after the message, cleared by the next successful poll.
    package var hint: String? {
        switch self {
        case .bottleNotFound: "Could not find bottle. Make sure it's nearby."
        case .failedToConnect(let message), .connectionLost(let message): message
        default: nil
        }
    }

    /// The name in the store and in JSON.
    package var code: String {
        switch self {
        case .bottleNotFound: "notFound"
        case .bluetoothOff: "bluetoothOff"
        case .permissionDenied: "permissionDenied"
        case .noAdapter: "noAdapter"
        case .failedToConnect: "connectFailed"
        case .unexpectedResponse: "unexpectedResponse"
        case .noAnswer: "didNotAnswer"
        case .connectionLost: "connectionLost"
        case .notOurs: "notOurs"
        case .clockDoubtful: "clockDoubtful"
        }
    }

    package var message: String? {
        switch self {
        case .failedToConnect(let message), .connectionLost(let message): message
        default: nil
        }
    }

    /// Returns `nil` if the code is unknown.
    package init?(code: String, message: String?) {
        switch code {
        case "connectFailed": self = .failedToConnect(message)
        case "connectionLost": self = .connectionLost(message)
        default:
            let plain: [ConnectionProblem] = [
                .bottleNotFound, .bluetoothOff, .permissionDenied, .noAdapter, .unexpectedResponse, .noAnswer, .notOurs,
                .clockDoubtful,
            ]
            guard let problem = plain.first(where: { $0.code == code }) else { return nil }
            self = problem
        }
    }
}

/// The last state of the connection, with advice that stays until a poll succeeds.
package struct ConnectionStatus: Hashable, Sendable {
    package var state: ConnectionState
    package var hint: String?

    package init(state: ConnectionState = .disconnected, hint: String? = nil) {
        self.state = state
        self.hint = hint
    }

    /// Changes the state. An error stays after the disconnect that follows it, until the next attempt or success.
    package mutating func change(to next: ConnectionState) {
        if case .error = state, next == .disconnected { return }
        state = next
        if case .error(let problem) = next { hint = problem.hint }
    }

    /// The message, if the last state is an error.
    package var error: String? {
        guard case .error(let problem) = state else { return nil }
        return problem.description
    }

    package mutating func pollSucceeded() {
        state = .disconnected
        hint = nil
    }
}

/// The status of the bottle that was polled last.
package struct BottleCondition: Hashable, Sendable, Encodable {
    /// The alias, or the identity.
    package var name: String
    package var advertisedName: String?
    /// The model in lower case, if known.
    package var model: String?
    /// The battery level (0–100 %) at that poll.
    package var batteryPercent: Int?
    /// The bottle's clock minus the host's, in seconds, at the last poll that read both.
    package var clockDriftSeconds: Int?
    /// The end of the last poll, complete or not.
    package var lastPoll: Instant?
    /// The end of the last poll that read the whole log.
    package var lastCompletePoll: Instant?

    package init(
        name: String, advertisedName: String? = nil, model: String? = nil, batteryPercent: Int? = nil,
        clockDriftSeconds: Int? = nil,
        lastPoll: Instant? = nil, lastCompletePoll: Instant? = nil
    ) {
        self.name = name
        self.advertisedName = advertisedName
        self.model = model
        self.batteryPercent = batteryPercent
        self.clockDriftSeconds = clockDriftSeconds
        self.lastPoll = lastPoll
        self.lastCompletePoll = lastCompletePoll
    }

    private enum CodingKeys: String, CodingKey {
        case name, advertisedName, model, batteryPercent, clockDriftSeconds, lastPoll, lastCompletePoll
    }

    /// Instants are whole seconds since 1970; unknown values are null.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(advertisedName, forKey: .advertisedName)
        try container.encode(model, forKey: .model)
        try container.encode(batteryPercent, forKey: .batteryPercent)
        try container.encode(clockDriftSeconds, forKey: .clockDriftSeconds)
        try container.encode(lastPoll?.wholeSeconds, forKey: .lastPoll)
        try container.encode(lastCompletePoll?.wholeSeconds, forKey: .lastCompletePoll)
    }

    var timeless: BottleCondition {
        var copy = self
        (copy.lastPoll, copy.lastCompletePoll) = (nil, nil)
        return copy
    }
}
