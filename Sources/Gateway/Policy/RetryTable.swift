import Bluetooth

/// A step of recovery, from the gentlest to the one that disturbs others (zombie links: protocol spec P4).
package enum RecoveryRung: String, Hashable, Sendable, CaseIterable {
    /// The same again, after a pause.
    case retry
    /// End what the system believes to be a connection.
    case disconnect
    /// Remove the device from the system, with stale attempts and GATT caches.
    case forget
    /// Stop and start the scan: discovery can stall silently.
    case restartDiscovery
    /// Switch the adapter off and on. Only with leave.
    case powerCycle

    /// Rungs that only mean something where a radio and a system service are in between.
    var needsRadio: Bool { self != .retry && self != .disconnect }
}

/// A rung that was climbed, and why.
package struct RecoveryStep: Hashable, Sendable {
    /// Which rung.
    package var rung: RecoveryRung
    /// What had happened.
    package var reason: String
    /// What the link said it did, where it said something.
    package var outcome: String?

    package init(rung: RecoveryRung, reason: String, outcome: String? = nil) {
        self.rung = rung
        self.reason = reason
        self.outcome = outcome
    }
}

/// How one class of link error is met: the n-th error of the class climbs the n-th rung; after the last the poll fails.
struct RetryRule: Sendable {
    var code: LinkError.Code
    var rungs: [RecoveryRung]
    /// Pause before the next attempt.
    var pause: Duration
    var failure: PollFailure.Kind
    /// Why these rungs.
    var reason: String
}

/// Retry policy as data. Errors that the link itself calls final (`isTransient` false) are not retried where the rule
/// says so.
package enum RetryTable {
    static let rules: [RetryRule] = [
        RetryRule(
            code: .noAdapter, rungs: [], pause: .zero, failure: .noAdapter,
            reason: "nothing of ours brings an adapter"),
        RetryRule(
            code: .poweredOff, rungs: [.powerCycle], pause: .seconds(1), failure: .bluetoothOff,
            reason: "switching it on is the owner's decision, unless power-cycling was allowed"),
        RetryRule(
            code: .permissionDenied, rungs: [], pause: .zero, failure: .permissionDenied,
            reason: "the same question gets the same answer"),
        RetryRule(
            code: .notFound, rungs: [.restartDiscovery, .forget, .powerCycle], pause: .milliseconds(200),
            failure: .notFound,
            reason: "discovery stalls silently, and a zombie link keeps a bottle from advertising"),
        RetryRule(
            code: .connectFailed, rungs: [.retry, .disconnect, .forget, .powerCycle], pause: .milliseconds(300),
            failure: .connectFailed,
            reason: "an attempt cut off by the controller mostly works the second time; a Wi-Fi burst passes"),
        RetryRule(
            code: .inProgress, rungs: [.disconnect, .forget, .powerCycle], pause: .milliseconds(500),
            failure: .connectFailed,
            reason: "another attempt, perhaps of a dead process, can last minutes"),
        RetryRule(
            code: .disconnected, rungs: [.retry, .retry, .forget], pause: .milliseconds(300), failure: .connectionLost,
            reason: "a log that is not acknowledged comes again, so a new connection only costs time"),
        RetryRule(
            code: .timeout, rungs: [.disconnect, .forget], pause: .milliseconds(300), failure: .didNotAnswer,
            reason: "a link without answers may be dead: only a new connection shows it"),
        RetryRule(
            code: .refused, rungs: [], pause: .zero, failure: .unexpectedResponse,
            reason: "a bottle needs no pairing and refuses nothing that it offers: a no stays a no"),
        RetryRule(
            code: .protocolViolation, rungs: [.forget], pause: .milliseconds(300), failure: .unexpectedResponse,
            reason: "a stale attribute cache looks like a lying peer"),
        RetryRule(
            code: .outOfStep, rungs: [.disconnect], pause: .milliseconds(200), failure: .connectionLost,
            reason: "we and the link disagree about what is connected: start from nothing"),
        RetryRule(
            code: .serviceLost, rungs: [.retry, .retry, .retry], pause: .seconds(2), failure: .noAdapter,
            reason: "bluetoothd is restarted by its service manager, never by us"),
        system,
    ]

    /// Whatever the operating system invents.
    static let system = RetryRule(
        code: .system, rungs: [.retry, .disconnect, .forget], pause: .milliseconds(300), failure: .connectFailed,
        reason: "unknown errors are mostly passing ones")

    static func rule(for code: LinkError.Code) -> RetryRule { rules.first { $0.code == code } ?? system }

    /// The rung for the `count`-th error (from 0) of this class, `nil` when there is none left.
    static func rung(for error: LinkError, count: Int, hasRadio: Bool, allowPowerCycle: Bool) -> RecoveryRung? {
        // A socket that is not there is not there: only over the air can silence mean something else.
        guard hasRadio || error.isTransient else { return nil }
        let rungs = rule(for: error.code).rungs.filter { rung in
            (hasRadio || !rung.needsRadio) && (allowPowerCycle || rung != .powerCycle)
        }
        return rungs.indices.contains(count) ? rungs[count] : nil
    }
}
