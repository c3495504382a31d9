/// Why a command ends, as far as exit codes tell it apart. Here alone a reason becomes its code, for every command
/// (command law C2).
package enum ExitReason: String, Hashable, Sendable, CaseIterable {
    /// No bottle, adapter or link: nobody was there to talk to.
    case absent
    /// What was asked for is not there, in a store or a list.
    case notFound
    /// A rule said no.
    case refused
    /// What was given cannot be understood.
    case invalid
    /// The file or the bytes are bad.
    case damaged
    /// Somebody else holds it.
    case busy
    case diskFull
    /// Stopped from outside, after a clean disconnect.
    case interrupted
    /// Anything else.
    case failed

    /// The code that it has for every command.
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
