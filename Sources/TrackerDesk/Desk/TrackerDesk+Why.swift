import TrackerCore

extension TrackerDesk {
    /// Why a reminder is told, or is silent: the conditions that the decision is made by, and what would change them. Tells and remembers nothing.
    /// - Parameter moment: as a person types it; `nil`: now. What was told of a day is known as it stands now, also for an earlier moment.
    public func why(at moment: String? = nil) throws -> WhyReport {
        var context = context
        if let moment { (context.now, context.isAsked) = (try self.moment(moment), true) }
        let then = TrackerDesk(store, context, canNotify: canNotify, remark: remark)
        return WhyReport(explanation: Tracker.explain(try store.facts(context), now: context.now), state: try then.state())
    }
}
