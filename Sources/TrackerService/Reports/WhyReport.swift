import TrackerCore

/// Why each reminder is told at one moment, or not, and how the day stands then.
public struct WhyReport: Sendable, Encodable {
    /// Each reminder with its conditions.
    public let explanation: Explanation
    /// How the day stood then.
    public let state: TrackerSnapshot

    enum CodingKeys: String, CodingKey { case state }

    public func encode(to encoder: any Encoder) throws {
        try explanation.encode(to: encoder)
        var keys = encoder.container(keyedBy: CodingKeys.self)
        try keys.encode(state, forKey: .state)
    }
}
