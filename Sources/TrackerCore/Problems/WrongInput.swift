/// What was given cannot be understood: words that are no time, no day, no name of an entry.
package struct WrongInput: Problem, Hashable {
    /// For programs: one word in lowerCamelCase.
    package var code: String
    /// What was given and what would do.
    package var sentence: String
    /// What the sentence speaks of, by name.
    package var values: [String: String]

    /// Always `invalid`.
    package var category: ProblemCategory { .invalid }

    package init(_ code: String, _ sentence: String, values: [String: String] = [:]) {
        self.code = code
        self.sentence = sentence
        self.values = values
    }
}
