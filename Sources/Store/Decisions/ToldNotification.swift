import TrackerCore

/// Something that was told, for whoever was away then.
public struct ToldNotification: Hashable, Sendable {
    /// With its place, and when it was decided.
    public var decision: TrackerNotification
    /// Names of those who have it.
    public var sinks: [String]

    /// Its place in the order of everything that was told.
    public var place: Int64 { decision.place }
}
