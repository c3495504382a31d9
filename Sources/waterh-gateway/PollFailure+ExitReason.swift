import CommandSupport
import Gateway

extension PollFailure: HasExitReason {
    package var exitReason: ExitReason {
        if kind.isAbsence { return .absent }
        return switch kind {
        case .interrupted: .interrupted
        case .unexpectedResponse: .damaged
        case .notOurs, .clockDoubtful: .refused
        default: .failed
        }
    }
}
