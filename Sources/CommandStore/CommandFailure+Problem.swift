import CommandKit
import TrackerCore

extension CommandFailure {
    /// A problem with its exit code (command law C2), and what this command can do about it.
    public init(_ problem: any Problem, advice: String? = nil) {
        self.init(Self.status(of: problem), problem.sentence, advice: advice ?? StoreAdvice.about(problem), code: problem.code)
    }

    /// The one place where a problem becomes an exit code.
    static func status(of problem: any Problem) -> ExitStatus {
        switch problem.code {
        // A name of the command line's own, and not of something that a person made.
        case "noSuchSetting": .wrongUse
        default:
            switch problem.category {
            case .notFound, .refused: .refused
            case .invalid: .wrongUse
            case .damaged: .badInput
            case .busy, .diskFull, .failed: .failed
            }
        }
    }
}
