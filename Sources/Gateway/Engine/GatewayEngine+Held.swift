import Bluetooth

// A connection that outlives the poll: taken up, kept, or ended.
extension GatewayEngine {
    /// - Returns: whether the poll begins with the connection that was kept, or has no more to do than to end it.
    mutating func startHeld() -> Bool {
        guard let kept = resumed else {
            guard work.options.job == .letGo else { return false }
            finish()
            return true
        }
        resumed = nil
        guard work.options.job != .letGo, kept.isMeant(by: work.options) else {
            disconnect(then: work.options.job == .letGo ? .finish : .scan)
            return true
        }
        sessions += 1
        peer = kept.peer
        work.seen = kept.seen
        (work.report.name, work.report.model, work.report.bottle) = (kept.name, kept.model, kept.bottle)
        (work.serialNumber, work.recognised) = (kept.serialNumber, kept.recognised)
        phase = .session
        session = BottleSession(mtu: kept.mtu)
        session?.resume(kept, &work)
        return true
    }

    /// Ends the poll and keeps the connection, where that was asked for.
    mutating func keep(_ session: BottleSession) -> Bool {
        // A command may have been for another bottle than the one whose connection is kept.
        let isAsked =
            work.options.keepsConnection && !isOutOfTime && !session.isSilent
            && (work.options.job == .poll || sessions == 1)
        guard isAsked, let kept = HeldConnection(session, with: peer, work) else { return false }
        held = kept
        work.report.isConnected = true
        self.session = nil
        close(nil)
        return true
    }

    /// What happens to the connection while the poll's end is noted.
    mutating func noteHeld(_ event: CentralEvent) {
        guard held?.note(event) == .lost else { return }
        held = nil
        work.report.isConnected = false
    }
}
