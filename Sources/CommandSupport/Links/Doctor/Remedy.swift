/// A command that fixes a finding.
package struct Remedy: Hashable, Sendable {
    package var command: [String]
    package var needsRoot: Bool

    package init(_ command: [String], needsRoot: Bool) {
        self.command = command
        self.needsRoot = needsRoot
    }
}
