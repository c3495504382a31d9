import TrackerCore

/// The output of `--version`.
package enum ProgramVersion {
    package static let text = "waterh-bench 0.10.0"
    /// The release date of this version, 2026-11-01. If the clock is earlier, it is wrong.
    package static let released = Instant(seconds: 1_793_491_200)
}
