/// Exit codes of all commands (CLI spec C2).
package enum ExitStatus: Int32, Sendable {
    case done = 0
    /// Failed; the message has the reason and the advice.
    case failed = 1
    case wrongUse = 2
    case refused = 3
    case badInput = 4
    case noLink = 5
    /// Interrupted, after a clean disconnect.
    case interrupted = 130

    /// The description of all exit codes, for help texts.
    package static let help = """
        Exit codes: 0 done, 1 failed, 2 wrong use, 3 rejected by a rule, 4 invalid file or data, 5 no bottle, adapter \
        or link, 130 interrupted.
        """
    static let wrappedHelp = help.replacing("4 invalid file or data", with: "4 invalid file\nor data")
}

/// An error that ends a command: exit code, sentence and advice.
package struct CommandFailure: Error, Sendable, CustomStringConvertible {
    package var status: ExitStatus
    package var sentence: String
    package var advice: String?
    /// A stable identifier of the error; `nil` if there is none.
    package var code: String?

    package init(_ status: ExitStatus, _ sentence: String, advice: String? = nil, code: String? = nil) {
        self.status = status
        self.sentence = sentence
        self.advice = advice
        self.code = code
    }

    package var description: String { advice.map { "\(sentence)\n\($0)" } ?? sentence }
}
