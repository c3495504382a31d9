/// A rule said no. Nothing was changed; the sentence names the rule (commands: exit code 3, HTTP: 404, 409 or 422).
public struct Refusal: Problem, Hashable {
    /// A stable name for programs, for example `noActiveSession`.
    public var rule: String
    /// The rule, for people.
    public var sentence: String
    /// What the caller can do about it.
    public var category: ProblemCategory
    /// What the sentence speaks of, by name.
    public var values: [String: String]

    /// The rule's id.
    public var code: String { rule }

    public init(
        _ rule: String, _ sentence: String, category: ProblemCategory = .refused, values: [String: String] = [:]
    ) {
        self.rule = rule
        self.sentence = sentence
        self.category = category
        self.values = values
    }
}
