import Store
import TrackerCore

extension TrackerDesk {
    /// The counted drinks of the day that runs now, oldest first.
    package func drinksToday() throws -> [StoredDrink] { try store.drinks(on: try today(), knownAt: context.asked) }

    /// What was drunk on the day that runs now, in millilitres.
    package func totalToday() throws -> Int { try store.intake(context).totalMl }

    /// The drinks that a name in our lists can mean: none, or one as a rule.
    package func drinks(named name: String) throws -> [StoredDrink] { try store.drinks(named: name) }

    /// The session that runs, else the last one; `nil` where there was none.
    package func sessionIfAny() throws -> SessionReport? {
        if let active = try store.activeSession(at: now) { return SessionReport(active) }
        guard let last = try store.pastSessions(limit: 1).first, let view = try store.session(named: last.id, at: now)
        else { return nil }
        return SessionReport(view)
    }

    /// The entries of the session that runs, oldest first; none without one.
    package func activeLogs() throws -> [LogReport] {
        try store.activeSession(at: now).map { view in view.logs.map { LogReport($0, view) } } ?? []
    }
}
