import TrackerCore

/// Why each reminder is told at one moment, or not, and how the day stands then.
package struct WhyReport: Sendable, Encodable {
    /// Each reminder with its conditions.
    package let explanation: Explanation
    /// How the day stood then.
    package let state: TrackerSnapshot

    enum CodingKeys: String, CodingKey { case state }

    package func encode(to encoder: any Encoder) throws {
        try explanation.encode(to: encoder)
        var keys = encoder.container(keyedBy: CodingKeys.self)
        try keys.encode(state, forKey: .state)
    }
}
