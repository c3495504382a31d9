/// How long a day waits for what.
public struct DayLimits: Hashable, Sendable {
    /// Bottles advertise rarely, and sleep.
    public var find = Duration.seconds(60)
    /// How long it is listened to before the first connection, where there is a radio.
    public var advertising = Duration.seconds(20)
    /// For a connection.
    public var connect = Duration.seconds(10)
    /// Table, subscription, write.
    public var request = Duration.seconds(15)
    /// With nothing asked: longer than two of the five seconds of a keep-alive.
    public var listen = Duration.seconds(12)
    /// Until a question counts as ignored.
    public var answer = Duration.seconds(2)
    /// Silence that ends a dump.
    public var quiet = Duration.seconds(2)
    /// For reports of what the person has just done.
    public var live = Duration.seconds(3)
    /// How often a question is asked.
    public var sendings = 3

    /// Every limit at its default.
    public init() {}

    /// The bottle took so long for an answer: others may take twice as long, within reason.
    mutating func wait(forAnswersAfter seen: Duration) {
        answer = max(answer, min(seen * 2 + .milliseconds(500), .seconds(20)))
    }

    /// With a bottle that does not exist.
    public static var rehearsal: DayLimits {
        var limits = DayLimits()
        limits.advertising = .seconds(4)
        (limits.find, limits.listen, limits.answer, limits.quiet, limits.live) = (
            .seconds(5), .milliseconds(5500), .seconds(1), .milliseconds(500), .milliseconds(300)
        )
        return limits
    }
}
