/// Exit codes of all commands (command law C2).
package enum ExitStatus: Int32, Sendable {
    case done = 0
    /// It failed; the message says what, why, and what to try.
    case failed = 1
    /// Wrong use: flags, arguments, values.
    case wrongUse = 2
    /// Refused by a rule.
    case refused = 3
    /// The file or the bytes are bad.
    case badInput = 4
    /// No bottle, adapter or link.
    case noLink = 5
    /// Interrupted, after a clean disconnect.
    case interrupted = 130

    /// All of them in one line, for the help of every command.
    package static let help =
        """
        Exit codes: 0 done, 1 failed, 2 wrong use, 3 refused by a rule, 4 bad file or bytes, 5 no bottle, adapter \
        or link, 130 interrupted.
        """
    /// The same in 80 columns, as helps are set.
    static let wrappedHelp = help.replacing("4 bad file or bytes", with: "4 bad file or\nbytes")
}

/// A failure that ends a command: what happened and why, and what the user can try, each a sentence.
package struct CommandFailure: Error, Sendable, CustomStringConvertible {
    /// The code to end with.
    package var status: ExitStatus
    /// What happened, and why.
    package var sentence: String
    /// What the user can try; `nil` where nothing helps.
    package var advice: String?
    /// A stable name for programs, where it has one: of a refusal the rule's.
    package var code: String?

    package init(_ status: ExitStatus, _ sentence: String, advice: String? = nil, code: String? = nil) {
        self.status = status
        self.sentence = sentence
        self.advice = advice
        self.code = code
    }

    /// The sentence, and the advice on a line of its own.
    package var description: String { advice.map { "\(sentence)\n\($0)" } ?? sentence }
}
