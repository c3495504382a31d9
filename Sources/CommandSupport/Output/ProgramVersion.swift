/// What `--version` says, the same in every command: they belong together, and share a store.
package enum ProgramVersion {
    /// The words: name and number.
    package static let text = "waterh-bench 0.10.0"
}
