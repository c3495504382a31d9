/// What happened on the way.
public struct FleetTally: Hashable, Sendable {
    /// Batches that a server said to have committed.
    public var committed = 0
    /// Entries in them, each as often as it was told.
    public var entries = 0
    /// Answers that got lost on the way back: the batch was told again.
    public var lost = 0
    /// Batches that began with what was committed before.
    public var replayed = 0
    /// Batches that were answered with another status, by status.
    public var refused: [Int: Int] = [:]
    /// Batches that nobody answered.
    public var unanswered = 0

    /// With nothing counted.
    public init() {}

    static func += (left: inout Self, right: Self) {
        left.committed += right.committed
        left.entries += right.entries
        left.lost += right.lost
        left.replayed += right.replayed
        left.refused.merge(right.refused, uniquingKeysWith: +)
        left.unanswered += right.unanswered
    }
}
