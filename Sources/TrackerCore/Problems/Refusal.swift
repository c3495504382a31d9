/// The error for a request that a rule rejected. Nothing was changed (commands: exit code 3, HTTP: 404, 409, 422).
package struct Refusal: Problem, Hashable {
    /// A stable name of the rule, such as `noActiveSession`.
    package var rule: String
    package var sentence: String
    package var category: ProblemCategory
    package var values: [String: String]

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
