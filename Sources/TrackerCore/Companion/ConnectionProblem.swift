/// The reason why a poll did not reach the bottle or its log (tracker spec A8). A failed poll never changes stored
/// drinks.
package struct ConnectionProblem: Hashable, Sendable, CustomStringConvertible {
    /// The kind of a failed poll. The raw values are the names in the store and in JSON.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case notFound, bluetoothOff, permissionDenied, noAdapter
        /// The connection was rejected or timed out.
        case connectFailed
        case unexpectedResponse
        /// The time limit of the whole poll has passed.
        case didNotAnswer
        /// The connection was lost. Records without acknowledgement are still in the bottle.
        case connectionLost
        /// The bottle that answered does not belong to this store.
        case notOwned = "notOurs"
        /// The host's clock contradicts the store or the bottle. Nothing was acknowledged.
        case clockNotTrusted = "clockDoubtful"
        /// The store failed. The connection is not affected.
        case cannotStore
        /// The poll was stopped. The connection is not affected.
        case interrupted

        package var text: String {
            switch self {
            case .notFound: "Bottle not found"
            case .bluetoothOff: "Bluetooth is off"
            case .permissionDenied: "Bluetooth permission denied"
            case .noAdapter: "No Bluetooth adapter"
            case .connectFailed: "Failed to connect"
            case .unexpectedResponse: "Unexpected bottle response"
            case .didNotAnswer: "Bottle did not answer"
            case .connectionLost: "Connection lost"
            case .notOwned: "Not this store's bottle"
            case .clockNotTrusted: "Clock not trusted"
            case .cannotStore: "Cannot store"
            case .interrupted: "Interrupted"
            }
        }
    }

    package let kind: Kind
    /// The link's error message, for the kinds `connectFailed` and `connectionLost`.
    package let message: String?

    package init(_ kind: Kind, message: String? = nil) {
        self.kind = kind
        self.message = [.connectFailed, .connectionLost].contains(kind) ? message : nil
    }

    /// Returns `nil` if the code is unknown, or if the failure does not concern the connection.
    package init?(code: String, message: String?) {
        guard let kind = Kind(rawValue: code), kind != .cannotStore, kind != .interrupted else { return nil }
        self.init(kind, message: message)
    }

    package var description: String { kind.text }

    /// The advice for the user, shown after the message until a poll succeeds.
    package var hint: String? {
        kind == .notFound ? "Could not find bottle. Make sure it's nearby." : message
    }
}

/// The status of the bottle that was polled last.
package struct BottleCondition: Hashable, Sendable, Codable {
    /// The bottle's alias, else its identity.
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

    /// Instants are whole seconds since 1970; unknown values are null.
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "name": name, "advertisedName": advertisedName, "model": model, "batteryPercent": batteryPercent,
            "clockDriftSeconds": clockDriftSeconds, "lastPoll": lastPoll?.wholeSeconds,
            "lastCompletePoll": lastCompletePoll?.wholeSeconds,
        ])
    }

    var withoutTimes: BottleCondition {
        var copy = self
        (copy.lastPoll, copy.lastCompletePoll) = (nil, nil)
        return copy
    }
}
