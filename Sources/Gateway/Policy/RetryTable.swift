import Bluetooth
import TrackerCore

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

/// A performed recovery action, with its reason and its outcome.
package struct RecoveryStep: Hashable, Sendable {
    package var action: RecoveryAction
    package var reason: String
    package var outcome: String?
}

/// The recovery from one class of link error: the n-th error takes the n-th step; after the last step the poll fails.
struct RetryRule: Sendable {
    let code: LinkError.Code
    let actions: [RecoveryAction]
    let pause: Duration
    let failure: PollFailure.Kind

    init(
        _ code: LinkError.Code, _ actions: [RecoveryAction], pause: Duration = .milliseconds(300),
        failure: PollFailure.Kind
    ) {
        (self.code, self.actions, self.pause, self.failure) = (code, actions, pause, failure)
    }
}

/// The retry rules by error code.
package enum RetryTable {
    static let rules: [RetryRule] = [
        RetryRule(.noAdapter, [], failure: .noAdapter),
        RetryRule(.poweredOff, [.powerCycle], pause: .seconds(1), failure: .bluetoothOff),
        RetryRule(.permissionDenied, [], failure: .permissionDenied),
        // Discovery can stall without an error, and a bottle with a stale connection does not advertise.
        RetryRule(
            .notFound, [.restartDiscovery, .forget, .powerCycle], pause: .milliseconds(200), failure: .notFound),
        RetryRule(.connectFailed, [.retry, .disconnect, .forget, .powerCycle], failure: .connectFailed),
        // A connection attempt of another process can last for minutes, even after that process has ended.
        RetryRule(
            .inProgress, [.disconnect, .forget, .powerCycle], pause: .milliseconds(500), failure: .connectFailed),
        RetryRule(.disconnected, [.retry, .retry, .forget], failure: .connectionLost),
        RetryRule(.timeout, [.disconnect, .forget], failure: .didNotAnswer),
        RetryRule(.refused, [], failure: .unexpectedResponse),
        // A stale attribute cache looks like a peer that violates the protocol.
        RetryRule(.protocolViolation, [.forget], failure: .unexpectedResponse),
        RetryRule(.invalidState, [.disconnect], pause: .milliseconds(200), failure: .connectionLost),
        // The service manager restarts bluetoothd within seconds.
        RetryRule(.serviceLost, [.retry, .retry, .retry], pause: .seconds(2), failure: .noAdapter),
        system,
    ]

    /// The rule for errors of the operating system, and for unknown ones.
    static let system = RetryRule(.system, [.retry, .disconnect, .forget], failure: .connectFailed)

    static func rule(for code: LinkError.Code) -> RetryRule { rules.first { $0.code == code } ?? system }

    /// The step after the `count`-th error of this class, counted from 0; `nil` if no step is left.
    static func action(for error: LinkError, count: Int, hasRadio: Bool, allowPowerCycle: Bool) -> RecoveryAction? {
        // Without a radio, an error such as a missing socket is final. By radio, it can have a temporary cause.
        guard hasRadio || error.isTransient else { return nil }
        let actions = rule(for: error.code).actions.filter { action in
            (hasRadio || !action.needsRadio) && (allowPowerCycle || action != .powerCycle)
        }
        return actions.indices.contains(count) ? actions[count] : nil
    }
}
