import Store
import TrackerCore

extension TrackerDesk {
    /// Does what a button of a notification says. A press is known by its key, so it counts once, whoever hears of it and however often.
    /// - Returns: `false` where somebody has done it already.
    @discardableResult
    public func press(_ action: NotificationAction, key: String) throws -> Bool {
        let errand = Errand(key: "press " + key, asking: action.rawValue.utf8, at: now)
        let desk = running(errand)
        do {
            switch action {
            case .logCup: _ = try desk.logDrink(.cup)
            case .logWater: _ = try desk.water()
            case .logDrink: _ = try desk.drink()
            case .endSession: _ = try desk.endSession()
            case .keepGoing: _ = try desk.keepGoing()
            // Nothing is written but that somebody has looked.
            case .open, .dismiss: try desk.openNotifications()
            }
            return true
        } catch is Errand.Repeated {
            return false
        }
    }
}
