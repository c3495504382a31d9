import TrackerCore

/// The open codes of a server, for all of its addresses.
actor PairingDesk {
    private var codes = PairingCodes()
    private let random: @Sendable () -> UInt32

    init(random: @escaping @Sendable () -> UInt32) { self.random = random }

    func issue(_ grant: PairingCodes.Grant, at now: Instant) -> String { codes.issue(grant, at: now, random: random) }

    func redeem(_ code: String, at now: Instant) -> PairingCodes.Verdict { codes.redeem(code, at: now) }
}
