/// A line that mends what a doctor found, for a shell or for the doctor itself.
public struct Remedy: Hashable, Sendable {
    /// The program's name, and its arguments.
    public var words: [String]
    /// Only the administrator may.
    public var needsRoot: Bool

    public init(_ words: [String], needsRoot: Bool) {
        self.words = words
        self.needsRoot = needsRoot
    }
}
