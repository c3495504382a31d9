import CommandSupport
import Gateway
import TrackerCore

extension PollFailure {
    var exitStatus: ExitStatus {
        switch kind {
        case .notFound, .bluetoothOff, .permissionDenied, .noAdapter, .connectFailed: .noLink
        case .interrupted: .interrupted
        case .unexpectedResponse: .badInput
        case .notOwned, .clockNotTrusted: .refused
        default: .failed
        }
    }
}

extension Finding {
    var exitStatus: ExitStatus { isAbsence ? .noLink : .failed }
}
