import Store
import TrackerCore

extension TrackerDesk {
    /// Does what a button of a notification says. A press is known by its key, so it counts once, whoever hears of it
    /// and however often.
    /// - Parameter instant: when it was pressed, of a press that took its time; `nil` means now.
    /// - Returns: `false` where somebody has done it already.
    @discardableResult
    package func press(_ action: NotificationAction, key: String, at instant: Instant? = nil) throws -> Bool {
        if [.logWater, .logDrink, .endSession, .keepGoing].contains(action) { try needWaterline() }
        let errand = Errand(key: "press " + key, asking: action.rawValue.utf8, at: now)
        let desk = running(errand)
        do {
            switch action {
            case .logCup: _ = try desk.logDrink(.cup, at: instant)
            case .snooze: _ = try desk.snooze(.minutes(Snooze.usualMinutes))
            case .notToday: _ = try desk.snooze(.tomorrow)
            case .logWater: _ = try desk.water(at: instant)
            case .logDrink: _ = try desk.drink(at: instant)
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

extension TrackerDesk {
    /// For how long a button of a notification in somebody's pocket is meant, seconds.
    private static let buttonLifetime: Double = 24 * 3600

    /// A button of a notification on a phone, by the key that it was sent with; `nil` where there is no such
    /// notification here. The key is good for the buttons of that one notification, each once, for a day.
    package func press(_ action: NotificationAction, withKey key: String) throws -> Bool? {
        guard let message = try store.post(withKey: key) else { return nil }
        // What was sent by a clock that ran ahead is a moment old, for all that anybody knows. Whose session it was of,
        // nobody does.
        let age = message.since.seconds(to: now)
        guard age < Self.buttonLifetime, age > -Self.buttonLifetime || !message.announcement.kind.isWaterline else {
            throw Refusal(
                "notMeantAnyMore", "This notification is more than a day old: its buttons do nothing any more.")
        }
        guard message.announcement.kind.actions.contains(action) else {
            throw Refusal("otherNotification", "This notification has no such button.")
        }
        // Of a session that is over by now a phone may still show what was asked of it.
        if message.announcement.kind.isWaterline, let session = try store.activeSession(at: now)?.session,
            session.startTime > message.since
        {
            throw Refusal(
                "notMeantAnyMore", "This notification is of a session that is over: its buttons do nothing any more.")
        }
        return try press(action, key: "pocket \(message.announcement.id) \(action.rawValue)")
    }
}
