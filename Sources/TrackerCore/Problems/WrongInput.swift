/// What was given cannot be understood: words that are no time, no day, no name of an entry.
public struct WrongInput: Problem, Hashable {
    public var code: String
    public var sentence: String
    public var values: [String: String]

    public var category: ProblemCategory { .invalid }

    public init(_ code: String, _ sentence: String, values: [String: String] = [:]) {
        self.code = code
        self.sentence = sentence
        self.values = values
    }
}
