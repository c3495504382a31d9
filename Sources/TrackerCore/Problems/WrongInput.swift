/// What was given cannot be understood: words that are no time, no day, no name of an entry.
public struct WrongInput: Problem, Hashable {
    /// For programs: one word in lowerCamelCase.
    public var code: String
    /// What was given and what would do.
    public var sentence: String
    /// What the sentence speaks of, by name.
    public var values: [String: String]

    /// Always `invalid`.
    public var category: ProblemCategory { .invalid }

    public init(_ code: String, _ sentence: String, values: [String: String] = [:]) {
        self.code = code
        self.sentence = sentence
        self.values = values
    }
}
