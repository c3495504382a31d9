package import TrackerCore

/// A bottle that the service polls.
package struct PollTarget: Hashable, Sendable, Identifiable {
    /// An identifier that is the same after a reload of the settings.
    package var id: String
    /// The value of `PollOptions.bottle` for the polls of this target.
    package var selectedBottle: String?
    /// The bottles that a poll of this target may drain. If empty, the store adopts the first bottle that responds.
    package var ownBottles: [AdoptedBottle] = []
    /// The store's other bottles, which have their own targets.
    package var otherBottles: [AdoptedBottle] = []

    /// The targets for the bottles that the user named, else for the adopted ones, else for the first that responds.
    /// - Parameter adoptsFirst: whether a store without a bottle adopts the first bottle that responds.
    package static func all(
        selectedBottles: [String], ownBottles: [AdoptedBottle], adoptsFirst: Bool = true
    ) -> [PollTarget] {
        if !selectedBottles.isEmpty {
            return selectedBottles.map { PollTarget(id: $0, selectedBottle: $0, ownBottles: ownBottles) }
        }
        guard !ownBottles.isEmpty else { return adoptsFirst ? [PollTarget(id: anyBottle)] : [] }
        return ownBottles.map { bottle in
            PollTarget(
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

/// A target with its current poll interval, and the request to keep its connection.
package struct ScheduledBottle: Sendable {
    package var target: PollTarget
    package var interval: PollSchedule?
    package var holdRequest: HoldRequest?

    package init(_ target: PollTarget, interval: PollSchedule? = nil, holdRequest: HoldRequest? = nil) {
        self.target = target
        self.interval = interval
        self.holdRequest = holdRequest
    }
}
