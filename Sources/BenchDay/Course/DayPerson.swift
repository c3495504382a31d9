/// Who has the bottle in hand.
public protocol DayPerson: Sendable {
    /// Shows the question and waits for its answer; `nil`: left out.
    func answer(_ question: DayQuestion) async -> String?
}

/// Something that only a person can do, see or allow.
public struct DayQuestion: Hashable, Sendable {
    /// What can be answered.
    public enum Form: Hashable, Sendable {
        /// To be said when it is done.
        case done
        /// Millilitres, and how many are meant where nothing is typed.
        case amount(Int)
        /// Yes or no, and which where nothing is typed.
        case yesNo(Bool)
    }

    /// One word in lowerCamelCase.
    public var word: String
    /// The question, for a person.
    public var text: String
    /// What kind of answer is wanted.
    public var form: Form
    /// What the person is to do.
    public var act: DayAct?

    /// A question by its word, with what it asks to be done.
    public init(_ word: String, _ text: String, _ form: Form, act: DayAct? = nil) {
        (self.word, self.text, self.form, self.act) = (word, text, form, act)
    }
}
