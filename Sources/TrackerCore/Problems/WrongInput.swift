/// Invalid input, such as a text that is not a time or a day.
package struct WrongInput: Problem, Hashable {
    package var code: String
    /// The input and what was expected.
    package var sentence: String
    package var values: [String: String]

    package var category: ProblemCategory { .invalid }

    package init(_ code: String, _ sentence: String, values: [String: String] = [:]) {
        self.code = code
        self.sentence = sentence
        self.values = values
    }
}
