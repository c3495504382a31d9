import CommandSupport

extension Finding {
    /// The reason of a bad finding: nothing to connect to, or an error.
    var exitReason: ExitReason { isAbsence ? .absent : .failed }
}
