import TrackerCore

/// Notices that somebody has set the clock since this was made: the wall clock has moved otherwise than time has passed.
struct WallClockJump {
    private let wall = Host.now()
    private let start = ContinuousClock.now

    /// By more than a minute.
    var hasJumped: Bool { Self.hasJumped(wall.seconds(to: Host.now()), after: start.duration(to: .now)) }

    static func hasJumped(_ seconds: Double, after passed: Duration) -> Bool { abs(seconds - passed / .seconds(1)) > 60 }
}
