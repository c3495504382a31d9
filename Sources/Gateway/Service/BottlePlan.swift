package import TrackerCore

/// A bottle that the service polls.
package struct BottlePlan: Hashable, Sendable, Identifiable {
    /// An identifier that is the same after a reload of the settings.
    package var id: String
    /// The value of `PollOptions.bottle` for the polls of this plan.
    package var selectedBottle: String?
    /// The bottles that a poll of this plan may drain. If empty, the store adopts the first bottle that responds.
    package var ownBottles: [AdoptedBottle] = []
    /// The store's other bottles, which have their own plans.
    package var otherBottles: [AdoptedBottle] = []

    /// The plans for the bottles that the user named, else for the adopted ones, else for the first that responds.
    /// - Parameter adoptsFirst: whether a store without a bottle adopts the first bottle that responds.
    package static func plans(
        selectedBottles: [String], ownBottles: [AdoptedBottle], adoptsFirst: Bool = true
    ) -> [BottlePlan] {
        if !selectedBottles.isEmpty {
            return selectedBottles.map { BottlePlan(id: $0, selectedBottle: $0, ownBottles: ownBottles) }
        }
        guard !ownBottles.isEmpty else { return adoptsFirst ? [BottlePlan(id: anyBottle)] : [] }
        return ownBottles.map { bottle in
            BottlePlan(
                id: bottle.identities.min() ?? bottle.aliases.min() ?? anyBottle, ownBottles: [bottle],
                otherBottles: ownBottles.filter { $0 != bottle })
        }
    }

    private static let anyBottle = "the first bottle that answers"

    /// The bottle's name for display; `nil` until an unknown bottle responds.
    package var name: String? {
        guard ownBottles.count == 1 else { return selectedBottle }
        return ownBottles[0].aliases.min() ?? selectedBottle ?? ownBottles[0].identities.min()
    }

    package func apply(to options: inout PollOptions) {
        options.bottle = selectedBottle
        options.ownBottles = ownBottles
        options.otherBottles = otherBottles
    }

    func has(_ identity: String) -> Bool { ownBottles.contains { $0.identities.contains(identity) } }
}

/// A plan with its current poll interval, and the request to keep its connection.
package struct ScheduledBottle: Sendable {
    package var plan: BottlePlan
    package var interval: PollSchedule?
    package var holdRequest: HoldRequest?

    package init(_ plan: BottlePlan, interval: PollSchedule? = nil, holdRequest: HoldRequest? = nil) {
        self.plan = plan
        self.interval = interval
        self.holdRequest = holdRequest
    }
}
