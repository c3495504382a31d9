import TrackerCore

extension CommandFailure {
    /// A problem with its exit code (command law C2), and what this command can do about it.
    package init(_ problem: any Problem, advice: String? = nil) {
        self.init(
            Self.reason(of: problem).status, problem.sentence, advice: advice ?? StoreAdvice.about(problem),
            code: problem.code)
    }

    /// The one place where a problem becomes a reason to end.
    static func reason(of problem: any Problem) -> ExitReason {
        if let told = problem as? any HasExitReason { return told.exitReason }
        switch problem.code {
        // A name of the command line's own, and not of something that a person made.
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
