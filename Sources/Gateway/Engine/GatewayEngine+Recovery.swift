import Bluetooth

// The recovery ladder: each error climbs the next rung of its class, until there is none left.
extension GatewayEngine {
    mutating func fail(_ error: LinkError) {
        if phase == .scanning { work.perform(.stopScan) }
        let count = failures[error.code, default: 0]
        failures[error.code] = count + 1
        let rung =
            isOutOfTime || sessions >= work.limits.sessions
            ? nil
            : RetryTable.rung(
                for: error, count: count, hasRadio: work.hasRadio, allowPowerCycle: work.options.allowPowerCycle)
        guard let rung else {
            let rule = RetryTable.rule(for: error.code)
            if work.hasRadio, let peer { work.report.history.suspectPeer = peer.text }
            return close(PollFailure(rule.failure, error.description, linkError: error.code))
        }
        climb(rung, peer, because: error.description, pause: RetryTable.rule(for: error.code).pause)
    }

    mutating func climb(_ rung: RecoveryRung, _ peer: PeerID?, because reason: String, pause: Duration = .zero) {
        work.report.recovery.append(RecoveryStep(rung: rung, reason: reason))
        work.say(.info, "\(reason) Next: \(rung.words).", code: "recovery")
        switch rung {
        case .forget where peer != nil:
            phase = .recovering(peer)
            if let peer { work.perform(.forget(peer)) }
        case .powerCycle:
            phase = .recovering(peer)
            work.perform(.powerCycle)
        case .disconnect:
            phase = .recovering(nil)
            work.perform(.disconnect)
        case .retry, .restartDiscovery, .forget:
            phase = .pausing
        }
        phaseDeadline = work.now.advanced(by: phase == .pausing ? pause : work.limits.connect)
    }

    mutating func recovered(_ outcome: String?) {
        if let outcome, !work.report.recovery.isEmpty {
            work.report.recovery[work.report.recovery.count - 1].outcome = outcome
        }
        phase = .pausing
        phaseDeadline = work.now.advanced(by: .milliseconds(100))
    }
}

extension RecoveryRung {
    /// What is being done, for people.
    var words: String {
        switch self {
        case .retry: "try again"
        case .disconnect: "end the old connection"
        case .forget: "let the system forget the bottle"
        case .restartDiscovery: "start the scan anew"
        case .powerCycle: "switch the adapter off and on"
        }
    }
}
