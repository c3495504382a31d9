/// What the core sees of the radio (tracker law A8).
public enum ConnectionState: Hashable, Sendable {
    case disconnected, scanning, connecting, connected, polling
    case error(ConnectionProblem)

    /// `disconnected` … `polling`, `error`.
    public var name: String {
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
public enum ConnectionProblem: Error, Hashable, Sendable, CustomStringConvertible {
    case bottleNotFound
    case bluetoothOff
    case permissionDenied
    case noAdapter
    /// Refused, or not within the connect timeout; with what the layer below said.
    case failedToConnect(String?)
    case unexpectedResponse
    /// The whole poll's budget passed.
    case noAnswer

    /// The error line.
    public var description: String {
        switch self {
        case .bottleNotFound: "Bottle not found"
        case .bluetoothOff: "Bluetooth is off"
        case .permissionDenied: "Bluetooth permission denied"
        case .noAdapter: "No Bluetooth adapter"
        case .failedToConnect: "Failed to connect"
        case .unexpectedResponse: "Unexpected bottle response"
        case .noAnswer: "Bottle did not answer"
        }
    }

    /// The hint under it, cleared by the next successful poll.
    public var hint: String? {
        switch self {
        case .bottleNotFound: "Could not find bottle. Make sure it's nearby."
        case .failedToConnect(let message): message
        default: nil
        }
    }

    /// Limits of one poll in seconds, where settings do not say otherwise (A8).
    public static let pollBudgetSeconds: Double = 30
}

/// The radio's last word and the hint that stands until a poll succeeds.
public struct ConnectionStatus: Hashable, Sendable {
    public var state: ConnectionState
    public var hint: String?

    public init(state: ConnectionState = .disconnected, hint: String? = nil) {
        self.state = state
        self.hint = hint
    }

    /// Takes in a change. An error survives the disconnect that follows it, until the next attempt or success.
    public mutating func change(to next: ConnectionState) {
        if case .error = state, next == .disconnected { return }
        state = next
        if case .error(let problem) = next { hint = problem.hint }
    }

    /// The error line, while the last word of the radio is one.
    public var error: String? {
        guard case .error(let problem) = state else { return nil }
        return problem.description
    }

    /// A poll came to its end with the bottle's answer.
    public mutating func pollSucceeded() {
        state = .disconnected
        hint = nil
    }
}
