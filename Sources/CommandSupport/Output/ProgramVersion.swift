package import TrackerCore

package enum ProgramVersion {
    package static let text = "waterh-bench 0.10.0"
    /// The release date of this version, 2026-11-01. A clock before this date is wrong.
    package static let released = Instant(seconds: 1_793_491_200)
}
