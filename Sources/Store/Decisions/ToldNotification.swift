import TrackerCore

/// Something that was told, for whoever was away then.
package struct ToldNotification: Hashable, Sendable {
    /// With its place, and when it was decided.
    package var decision: TrackerNotification
    /// Names of those who have it.
    package var sinks: [String]

    /// Its place in the order of everything that was told.
    package var place: Int64 { decision.place }
}
