/// The texts of all notifications (tracker spec B4, B5, A10, D2, E4), independent of the locale.
package enum NotificationTexts {
    package struct Text: Hashable, Sendable {
        package var title: String
        /// The body, which can be empty.
        package var body: String

        package init(_ title: String, _ body: String = "") {
            self.title = title
            self.body = body
        }
    }

    /// The pace reminder (B4) by urgency, with the rounded deficit.
    package static func pace(_ urgency: Urgency, deficitMl: Int, in units: AmountUnits = .ml) -> Text {
        let amount = units.deficit(deficitMl)
        return Text(
            "Hydration Reminder",
            urgency == .overdue
                ? "You're falling behind! Drink \(amount) to catch up."
                : "Time to hydrate! You're \(amount) behind pace.")
    }

    /// The reminder of the interval engine (A10).
    package static let interval = Text("Time to Drink!", "Stay hydrated - grab your water bottle.")

    /// The adaptive reminder (D2), with the pace that would still reach the goal.
    package static func adaptive(mlPerHour: Int, in units: AmountUnits = .ml) -> Text {
        Text("Hydration Reminder", "You need about \(units.text(mlPerHour)) per hour to hit your goal. Tap to log!")
    }

    /// The goal notification (B5), once a day.
    package static let goal = Text("Goal Reached! 💧", "Good job! You've hit your daily hydration goal.")
    /// The notification after a drink that brings the day back on pace (B5).
    package static let recovery = Text("Back on Track", "Nice work - you're back on pace.")

    /// The session's reminder by time (E4). Also used as the discreet text.
    package static let waterlineTime = Text("Time for water")

    /// The session's reminder by drinks (E4). The discreet text has no count and no kind of drink.
    package static func perDrink(sinceWater: Int, discreet: Bool) -> Text {
        discreet
            ? Text("Time for a break")
            : Text("You've had \(counted(sinceWater, "drink")) — time for water")
    }

    /// The warning that the value crossed the threshold (E4).
    package static func warning(discreet: Bool) -> Text {
        discreet ? Text("Time for a break") : Text("Your Waterline is high — drink water to return to center")
    }

    /// The question about an abandoned session (E3), with the whole hours since the start.
    package static func abandoned(hours: Int) -> Text {
        Text("Your session has been running for \(hours) hours. End it?")
    }

    /// The resident notification of a session (E4).
    /// - Parameter nextReminder: the local time of the next reminder, if there is one.
    package static func live(_ state: WaterlineState, nextReminder: TimeOfDay?, discreet: Bool) -> Text {
        guard !discreet else { return Text("Session running") }
        let (drinks, waters) = (counted(state.drinks, "drink"), counted(state.waters, "water"))
        let next = nextReminder.map { " · next reminder \($0)" } ?? ""
        return Text("Session running", "Waterline \(Amounts.decimal(state.value)) · \(drinks) · \(waters)\(next)")
    }
}

extension NotificationAction {
    /// The label of a button. A discreet label does not name the kind of drink.
    package func label(discreet: Bool) -> String { discreet && self == .logDrink ? "Add one" : label }
}

extension Amounts {
    /// A number with up to three decimals and no trailing zeros: `2`, `0.6`, `1.333`, `-1`.
    package static func decimal(_ value: Double) -> String {
        guard value.isFinite, value.magnitude < 1e12 else { return "?" }
        let thousandths = Int((value * 1000).rounded())
        var text = padded(Int(thousandths.magnitude) % 1000, 3)
        while text.hasSuffix("0") { text.removeLast() }
        let whole = Int(thousandths.magnitude) / 1000
        return (thousandths < 0 ? "-" : "") + "\(whole)" + (text.isEmpty ? "" : ".\(text)")
    }
}
