import TrackerCore

/// What `--version` says, the same in every command: they belong together, and share a store.
package enum ProgramVersion {
    /// The words: name and number.
    package static let text = "waterh-bench 0.10.0"
    /// 2026-11-01, when work on this version began: a clock that shows an earlier time is wrong.
    package static let released = Instant(seconds: 1_793_491_200)
}
