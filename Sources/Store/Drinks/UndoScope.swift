/// The changes that undo considers. It undoes the newest one.
package enum UndoScope: Hashable, Sendable {
    case everything
    case drinks
    /// Changes of drinks of the current day.
    case today
    case session
    /// Changes of one drink, by its row id.
    case drink(Int64)
}
