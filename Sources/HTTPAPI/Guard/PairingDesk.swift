import TrackerCore
import TrackerDesk

/// The open codes of a server, for all of its addresses.
actor PairingDesk {
    private var codes = PairingCodes()
    private let random: @Sendable () -> UInt32

    init(random: @escaping @Sendable () -> UInt32) { self.random = random }

    func issue(_ grant: PairingCodes.Grant, at now: Instant) -> String { codes.issue(grant, at: now, random: random) }

    /// Lets in who has a good code. One whose token cannot be made stays good.
    /// - Parameter make: makes the token, and takes the one back that it stands instead of.
    /// - Returns: the token; `nil` with what stands against it.
    func redeem(
        _ code: String, key: String?, from peer: String, at now: Instant, make: @Sendable (PairingCodes.Grant, _ instead: String?) throws -> NewToken?
    ) rethrows -> (verdict: PairingCodes.Verdict, token: NewToken?) {
        let verdict = codes.redeem(code, key: key, from: peer, at: now)
        guard case .letIn(let grant, let instead) = verdict, let made = try make(grant, instead) else { return (verdict, nil) }
        codes.take(code, key: key, token: made.id)
        return (verdict, made)
    }
}
