/// A command that fixes a finding.
package struct Remedy: Hashable, Sendable {
    /// The program and its arguments.
    package var words: [String]
    /// Whether it requires root.
    package var needsRoot: Bool

    package init(_ words: [String], needsRoot: Bool) {
        self.words = words
        self.needsRoot = needsRoot
    }
}
