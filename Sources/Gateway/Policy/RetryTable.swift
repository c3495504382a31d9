import Bluetooth

/// A recovery step, ordered from the least to the most disruptive (zombie links: protocol spec P4).
package enum RecoveryAction: String, Hashable, Sendable, CaseIterable {
    /// Repeat the request after a pause.
    case retry
    /// End the connection that the system reports.
    case disconnect
    /// Remove the device from the system, including stale attempts and GATT caches.
    case forget
    /// Stop and start the scan: discovery can stall without an error.
    case restartDiscovery
    /// Switch the adapter off and on, if permitted.
    case powerCycle

    /// Whether the step requires a radio and a system service.
    var needsRadio: Bool { self != .retry && self != .disconnect }
}

package struct RecoveryStep: Hashable, Sendable {
    package var rung: RecoveryAction
    package var reason: String
    package var outcome: String?

    package init(rung: RecoveryAction, reason: String, outcome: String? = nil) {
        self.rung = rung
        self.reason = reason
        self.outcome = outcome
    }
}

/// The recovery from one class of link error: the n-th error takes the n-th step; after the last step the poll fails.
struct RetryRule: Sendable {
    var code: LinkError.Code
    var rungs: [RecoveryAction]
    var pause: Duration
    var failure: PollFailure.Kind
    var reason: String
}

/// The retry policy as data. Final errors (`isTransient` is false) are not retried if the rule says so.
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

    /// The rule for errors of the operating system.
    static let system = RetryRule(
        code: .system, rungs: [.retry, .disconnect, .forget], pause: .milliseconds(300), failure: .connectFailed,
        reason: "unknown errors are mostly passing ones")

    static func rule(for code: LinkError.Code) -> RetryRule { rules.first { $0.code == code } ?? system }

    /// The step for the `count`-th error (from 0) of this class; `nil` when none is left.
    static func rung(for error: LinkError, count: Int, hasRadio: Bool, allowPowerCycle: Bool) -> RecoveryAction? {
        // A missing socket is a final error. Only over the air can a missing response have another cause.
        guard hasRadio || error.isTransient else { return nil }
        let rungs = rule(for: error.code).rungs.filter { rung in
            (hasRadio || !rung.needsRadio) && (allowPowerCycle || rung != .powerCycle)
        }
        return rungs.indices.contains(count) ? rungs[count] : nil
    }
}
