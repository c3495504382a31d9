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
    let actions: [RecoveryAction]
    var pause = Duration.milliseconds(300)
    let failure: PollFailure.Kind
}

/// The retry rules by error code.
enum RetryTable {
    static func rule(for code: LinkError.Code) -> RetryRule {
        switch code {
        case .noAdapter: RetryRule(actions: [], failure: .noAdapter)
        case .poweredOff: RetryRule(actions: [.powerCycle], pause: .seconds(1), failure: .bluetoothOff)
        case .permissionDenied: RetryRule(actions: [], failure: .permissionDenied)
        // Discovery can stall without an error, and a bottle with a stale connection does not advertise.
        case .notFound:
            RetryRule(
                actions: [.restartDiscovery, .forget, .powerCycle], pause: .milliseconds(200), failure: .notFound)
        case .connectFailed:
            RetryRule(actions: [.retry, .disconnect, .forget, .powerCycle], failure: .connectFailed)
        // A connection attempt of another process can last for minutes, even after that process has ended.
        case .inProgress:
            RetryRule(actions: [.disconnect, .forget, .powerCycle], pause: .milliseconds(500), failure: .connectFailed)
        case .disconnected: RetryRule(actions: [.retry, .retry, .forget], failure: .connectionLost)
        case .timeout: RetryRule(actions: [.disconnect, .forget], failure: .didNotAnswer)
        case .refused: RetryRule(actions: [], failure: .unexpectedResponse)
        // A stale attribute cache looks like a peer that violates the protocol.
        case .protocolViolation: RetryRule(actions: [.forget], failure: .unexpectedResponse)
        case .invalidState:
            RetryRule(actions: [.disconnect], pause: .milliseconds(200), failure: .connectionLost)
        // The service manager restarts bluetoothd within seconds.
        case .serviceLost:
            RetryRule(actions: [.retry, .retry, .retry], pause: .seconds(2), failure: .noAdapter)
        case .system: RetryRule(actions: [.retry, .disconnect, .forget], failure: .connectFailed)
        }
    }

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
