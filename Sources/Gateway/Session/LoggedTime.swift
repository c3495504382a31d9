import TrackerCore

/// When a record of a log was made, by its own account.
struct LoggedTime: Hashable, Sendable {
    var instant: Instant
    /// The account has a year; else the year is somebody's clock's, and no evidence for that clock.
    var hasYear: Bool
}
