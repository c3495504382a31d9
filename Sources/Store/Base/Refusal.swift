/// A rule said no. Nothing was changed; the sentence names the rule (commands: exit code 3, HTTP: 409 or 422).
public struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// A stable name for scripts, for example `noActiveSession`.
    public var rule: String
    /// The rule and what to do, for people.
    public var description: String

    public init(_ rule: String, _ description: String) {
        self.rule = rule
        self.description = description
    }
}
