import TrackerCore

extension TrackerDesk {
    /// What the day's icon among a desktop's status items shows, and for how long that stays so by itself (tracker law Section 10.10).
    public func tray() throws -> (face: TrayFace?, lasts: Duration) {
        let standing = try standing()
        return (TrayFace(standing.snapshot, try store.settings()), standing.lasts)
    }

    /// Does what was clicked in the icon's menu, as far as the store is concerned.
    /// - Returns: `false` where it is nothing of the store's: polling, showing a page.
    public func choose(_ action: TrayAction) throws -> Bool {
        switch action {
        case .ml(let ml): _ = try logDrink(.ml(ml))
        case .water: _ = try water()
        case .drink: _ = try drink()
        case .end: _ = try endSession()
        case .undo: _ = try undo()
        case .check, .open: return false
        }
        return true
    }
}
