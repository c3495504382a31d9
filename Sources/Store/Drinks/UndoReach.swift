/// Which changes by hand are taken back: the newest of these.
package enum UndoReach: Hashable, Sendable {
    /// Of drinks and of sessions.
    case everything
    /// Not of what was done to a session.
    case drinks
    /// Of drinks that stand, or stood, on the day that runs: what a page of today shows.
    case today
    /// Of what was done to a session.
    case session
    /// Of one drink, by its row.
    case drink(Int64)
}
