import TrackerCore

extension CommandFailure {
    package init(_ problem: any Problem, advice: String? = nil) {
        self.init(
            Self.reason(of: problem).status, problem.sentence, advice: advice ?? StoreAdvice.about(problem),
            code: problem.code)
    }

    static func reason(of problem: any Problem) -> ExitReason {
        if let told = problem as? any HasExitReason { return told.exitReason }
        switch problem.code {
        // The name of a setting is part of the command line.
        case "noSuchSetting": return .invalid
        default:
            return switch problem.category {
            case .notFound: .notFound
            case .refused: .refused
            case .invalid: .invalid
            case .damaged: .damaged
            case .busy: .busy
            case .diskFull: .diskFull
            case .failed: .failed
            }
        }
    }
}
