/// A line that mends what a doctor found, for a shell or for the doctor itself.
package struct Remedy: Hashable, Sendable {
    /// The program's name, and its arguments.
    package var words: [String]
    /// Only the administrator may.
    package var needsRoot: Bool

    package init(_ words: [String], needsRoot: Bool) {
        self.words = words
        self.needsRoot = needsRoot
    }
}
