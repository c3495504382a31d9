import CommandSupport
import Gateway
import TrackerCore

extension PollFailure {
    var exitStatus: ExitStatus {
        if kind.isAbsence { return .noLink }
        return switch kind {
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
