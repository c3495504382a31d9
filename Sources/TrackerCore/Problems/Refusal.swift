/// A rule said no. Nothing was changed; the sentence names the rule (commands: exit code 3, HTTP: 404, 409 or 422).
package struct Refusal: Problem, Hashable {
    /// A stable name for programs, for example `noActiveSession`.
    package var rule: String
    /// The rule, for people.
    package var sentence: String
    /// What the caller can do about it.
    package var category: ProblemCategory
    /// What the sentence speaks of, by name.
    package var values: [String: String]

    /// The rule's id.
    package var code: String { rule }

    package init(
        _ rule: String, _ sentence: String, category: ProblemCategory = .refused, values: [String: String] = [:]
    ) {
        self.rule = rule
        self.sentence = sentence
        self.category = category
        self.values = values
    }
}
