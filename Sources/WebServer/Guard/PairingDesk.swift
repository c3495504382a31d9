import TrackerCore
import TrackerService

/// The open codes of a server, for all of its addresses.
actor PairingDesk {
    private var codes = PairingCodes()
    private let random: @Sendable () -> UInt32
    private let passing: @Sendable () -> Instant

    /// - Parameter passing: time as it passes, from some moment on; `nil`: since this process first asked.
    init(random: @escaping @Sendable () -> UInt32, passing: (@Sendable () -> Instant)? = nil) {
        (self.random, self.passing) = (random, passing ?? Self.sinceFirstAsked)
    }

    func issue(_ grant: PairingCodes.Grant) -> String { codes.issue(grant, at: passing(), random: random) }

    /// Lets in who has a good code. One whose token cannot be made stays good.
    /// - Parameter make: makes the token, and takes the one back that it stands instead of.
    /// - Returns: the token; `nil` with what stands against it.
    func redeem(
        _ code: String, key: String?, from peer: String,
        make: @Sendable (PairingCodes.Grant, _ instead: String?) throws -> NewToken?
    ) rethrows -> (verdict: PairingCodes.Verdict, token: NewToken?) {
        let verdict = codes.redeem(code, key: key, from: peer, at: passing())
        guard case .letIn(let grant, let instead) = verdict, let made = try make(grant, instead) else {
            return (verdict, nil)
        }
        codes.take(code, key: key, token: made.id)
        return (verdict, made)
    }

    // MARK: - Time that passes

    private static let first = ContinuousClock.now

    /// The machine's clock is put right while somebody types, and runs fast in a demonstration.
    @Sendable private static func sinceFirstAsked() -> Instant {
        let first = first
        return Instant(milliseconds: Int64((ContinuousClock.now - first) / .milliseconds(1)))
    }
}
