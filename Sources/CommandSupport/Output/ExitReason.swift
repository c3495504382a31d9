/// The reason for the end of a command, which determines its exit code (CLI spec C2).
package enum ExitReason: String, Hashable, Sendable, CaseIterable {
    case absent
    case notFound
    case refused
    /// The input is invalid.
    case invalid
    /// The file or the bytes are damaged.
    case damaged
    case busy
    case diskFull
    case interrupted
    case failed

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
