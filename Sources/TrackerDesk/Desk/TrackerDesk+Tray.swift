import Store
import TrackerCore

extension TrackerDesk {
    /// What the day's icon among a desktop's status items shows, and for how long that stays so by itself (tracker law
    /// Section 10.10).
    public func tray() throws -> (face: TrayFace?, lasts: Duration) {
        let standing = try standing()
        return (TrayFace(standing.snapshot, try store.settings()), standing.lasts)
    }

    /// Does what was clicked in the icon's menu, as far as the store is concerned.
    /// - Parameter instant: when it was clicked, of a click that took its time; `nil` means now.
    /// - Returns: `false` where it is nothing of the store's: polling, showing a page.
    public func choose(_ action: TrayAction, at instant: Instant? = nil) throws -> Bool {
        switch action {
        case .ml(let ml): _ = try logDrink(.ml(ml), at: instant)
        case .water: _ = try water(at: instant)
        case .drink: _ = try drink(at: instant)
        case .end: _ = try endSession()
        case .undo: _ = try undo(asOf: instant)
        case .check, .open: return false
        }
        return true
    }

    /// The same of a click that may be told more than once: it is known by its key, and counts once.
    public func choose(_ action: TrayAction, key: String, at instant: Instant?) throws -> Bool {
        do {
            return try running(Errand(key: "tray " + key, asking: action.rawValue.utf8, at: now)).choose(
                action, at: instant)
        } catch is Errand.Repeated {
            return true
        }
    }
}
