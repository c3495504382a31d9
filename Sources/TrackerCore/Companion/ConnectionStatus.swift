/// What the core sees of the radio (tracker spec A8).
package enum ConnectionState: Hashable, Sendable {
    case disconnected, scanning, connecting, connected, polling
    case error(ConnectionProblem)

    /// `disconnected` … `polling`, `error`.
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

/// Why a poll brought nothing. It never clears stored drinks, and never means that nothing was drunk.
package enum ConnectionProblem: Error, Hashable, Sendable, CustomStringConvertible {
    case bottleNotFound
    case bluetoothOff
    case permissionDenied
    case noAdapter
    /// Refused, or not within the connect timeout; with what the layer below said.
    case failedToConnect(String?)
    case unexpectedResponse
    /// The whole poll's budget passed.
    case noAnswer
    /// In the middle of a talk; what was not acknowledged is still in the bottle.
    case connectionLost(String?)
    /// A bottle answered that is not this store's.
    case notOurs
    /// The host's clock contradicts what store and bottle know: nothing was acknowledged.
    case clockDoubtful

    /// The error line.
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

    /// The hint under it, cleared by the next successful poll.
    package var hint: String? {
        switch self {
        case .bottleNotFound: "Could not find bottle. Make sure it's nearby."
        case .failedToConnect(let message), .connectionLost(let message): message
        default: nil
        }
    }

    /// Its name in a store and in JSON.
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

    /// What the layer below said, where the problem carries it.
    package var message: String? {
        switch self {
        case .failedToConnect(let message), .connectionLost(let message): message
        default: nil
        }
    }

    /// From its `code`; `nil` for one that is not known.
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

/// The radio's last word and the hint that stands until a poll succeeds.
package struct ConnectionStatus: Hashable, Sendable {
    /// The last change.
    package var state: ConnectionState
    /// What to do about the last failed poll.
    package var hint: String?

    package init(state: ConnectionState = .disconnected, hint: String? = nil) {
        self.state = state
        self.hint = hint
    }

    /// Takes in a change. An error survives the disconnect that follows it, until the next attempt or success.
    package mutating func change(to next: ConnectionState) {
        if case .error = state, next == .disconnected { return }
        state = next
        if case .error(let problem) = next { hint = problem.hint }
    }

    /// The error line, while the last word of the radio is one.
    package var error: String? {
        guard case .error(let problem) = state else { return nil }
        return problem.description
    }

    /// A poll came to its end with the bottle's answer.
    package mutating func pollSucceeded() {
        state = .disconnected
        hint = nil
    }
}

/// What is known of the bottle that was polled last.
package struct BottleStanding: Hashable, Sendable, Encodable {
    /// What it goes by: its alias, or its identity.
    package var name: String
    /// The name that it shows on the air.
    package var advertisedName: String?
    /// Its model in lower case, where it is known.
    package var model: String?
    /// Charge of its battery, 0–100, as it said at that poll.
    package var batteryPercent: Int?
    /// Bottle's clock minus host's, seconds, at the last poll that saw both.
    package var clockDriftSeconds: Int?
    /// End of the last poll, whole or not.
    package var lastPoll: Instant?
    /// The last poll that read the whole log.
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

    /// Instants as whole seconds since 1970, as everywhere in the state; what is not known is null.
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

    /// The same but for when it was polled.
    var timeless: BottleStanding {
        var copy = self
        (copy.lastPoll, copy.lastCompletePoll) = (nil, nil)
        return copy
    }
}
