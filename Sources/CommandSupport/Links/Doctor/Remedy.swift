/// A command that fixes a finding.
package struct Remedy: Hashable, Sendable {
    package var words: [String]
    package var needsRoot: Bool

    package init(_ words: [String], needsRoot: Bool) {
        self.words = words
        self.needsRoot = needsRoot
    }
}
