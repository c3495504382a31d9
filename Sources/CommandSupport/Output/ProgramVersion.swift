import TrackerCore

/// The output of `--version`.
package enum ProgramVersion {
    package static let text = "waterh-bench 0.10.0"
    /// 2026-11-01, the start of work on this version. An earlier time of the clock is wrong.
    package static let released = Instant(seconds: 1_793_491_200)
}
