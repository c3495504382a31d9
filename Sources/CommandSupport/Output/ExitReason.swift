/// The reason why a command ends, which determines its exit code (CLI spec C2).
package enum ExitReason: String, Hashable, Sendable, CaseIterable {
    /// No bottle, adapter or link.
    case absent
    /// The requested thing does not exist.
    case notFound
    /// A rule rejected the request.
    case refused
    /// The input is invalid.
    case invalid
    /// The file or the bytes are damaged.
    case damaged
    /// Another process uses it.
    case busy
    case diskFull
    /// Interrupted, after a clean disconnect.
    case interrupted
    /// Any other reason.
    case failed

    /// The exit code.
    package var status: ExitStatus {
        switch self {
        case .absent: .noLink
        case .notFound, .refused: .refused
        case .invalid: .wrongUse
        case .damaged: .badInput
        case .interrupted: .interrupted
        case .busy, .diskFull, .failed: .failed
        }
    }
}
