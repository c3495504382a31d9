import CommandSupport

extension Finding {
    /// Of one that is bad: somebody is missing to talk to, or something does not work.
    var exitReason: ExitReason { isAbsence ? .absent : .failed }
}
