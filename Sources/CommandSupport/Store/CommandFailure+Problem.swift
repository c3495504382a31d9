package import TrackerCore

extension CommandFailure {
    package init(_ problem: any Problem, advice: String? = nil) {
        self.init(
            ExitStatus(problem), problem.sentence, advice: advice ?? StoreAdvice.about(problem), code: problem.code)
    }
}

extension ExitStatus {
    init(_ problem: any Problem) {
        self =
            switch problem.category {
            // An unknown setting is wrong use, because its name is an argument of the command.
            case .notFound, .refused: problem.code == "noSuchSetting" ? .wrongUse : .refused
            case .invalid: .wrongUse
            case .damaged: .badInput
            case .busy, .diskFull, .failed: .failed
            }
    }
}
