import Store
import TrackerCore

extension TrackerDesk {
    /// Why a reminder is told, or is silent: the conditions that the decision is made by, and what would change them.
    /// Tells and remembers nothing.
    /// - Parameter moment: as a person types it, `14:00` for that time of the day that runs, also where it is still to
    ///   come; `nil`: now. What was told of a day is known as it stands now, also for an earlier moment.
    package func why(at moment: String? = nil) throws -> WhyReport {
        var context = context
        if let moment { (context.now, context.isAsked) = (try timeOfToday(moment) ?? self.moment(moment), true) }
        let then = TrackerDesk(store, context, canNotify: canNotify, remark: remark)
        return WhyReport(
            explanation: Tracker.explain(try store.facts(context), now: context.now), state: try then.state())
    }

    /// Of the day that runs: what lies before its boundary hour is its end, on the next date. `nil` where the text is
    /// no time of day alone.
    private func timeOfToday(_ text: String) throws -> Instant? {
        guard let time = TimeOfDay(text) else { return nil }
        let calendar = try store.facts(context).calendar
        let day = calendar.day(of: now)
        return calendar.instant(on: time.hour < calendar.boundaryHour ? day.adding(days: 1) : day, at: time)
    }
}
