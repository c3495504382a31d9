/// The set of manual changes from which undo reverts the newest one.
package enum UndoScope: Hashable, Sendable {
    case everything
    case drinks
    /// Changes of drinks of the current day.
    case today
    case session
    /// Changes of the drink with this row id.
    case drink(Int64)
}
