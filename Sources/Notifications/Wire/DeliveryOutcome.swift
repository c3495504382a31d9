enum DeliveryOutcome: Hashable, Sendable {
    case sent
    /// The attempt failed, and a retry can succeed after the pause that the server requires.
    case later(String, after: Duration?)
    case rejected(String)

    /// The maximum pause in seconds, whatever the server requires.
    private static let longest: Double = 3600

    /// Parses `Retry-After` in seconds. A date is ignored, because the clock can be wrong.
    static func retryPause(_ text: String?) -> Duration? {
        text.flatMap(Double.init).flatMap { $0.isFinite ? .seconds(min(longest, max(0, $0))) : nil }
    }
}
