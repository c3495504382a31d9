import TrackerCore

/// The output of `--version`.
package enum ProgramVersion {
    package static let text = "waterh-bench 0.10.0"
    /// 2026-11-01, when work on this version began: a clock that shows an earlier time is wrong.
    package static let released = Instant(seconds: 1_793_491_200)
}
