/// The changes that undo considers; it undoes the newest of them.
package enum UndoReach: Hashable, Sendable {
    /// Changes of drinks and of sessions.
    case everything
    /// Changes of drinks.
    case drinks
    /// Changes of drinks of the current day.
    case today
    /// Changes of sessions.
    case session
    /// Changes of one drink, by its row.
    case drink(Int64)
}
