/// One bottle that the service polls.
package struct BottlePlan: Hashable, Sendable, Identifiable {
    /// Who it is to the service: stays the same over reloads.
    package var id: String
    /// What `--bottle` names, in the meaning of `PollOptions.bottle`.
    package var wanted: String?
    /// The bottles that a poll of this plan may drain. Empty: the store has none, and the first that answers becomes
    /// its own.
    package var own: [OwnBottle]
    /// The store's other bottles, which have plans of their own.
    package var others: [OwnBottle]

    package init(
        id: String, wanted: String? = nil, own: [OwnBottle] = [], others: [OwnBottle] = []
    ) {
        self.id = id
        self.wanted = wanted
        self.own = own
        self.others = others
    }

    /// The plans of a store: each bottle that a person named, or each of the store's own, or the first that answers.
    /// - Parameter mayMeet: whether a store without a bottle takes the first that answers.
    package static func plans(
        wanted: [String], own: [OwnBottle], mayMeet: Bool = true
    ) -> [BottlePlan] {
        if !wanted.isEmpty {
            return wanted.map { wanted in
                var one = BottlePlan(id: wanted)
                (one.wanted, one.own) = (wanted, own)
                return one
            }
        }
        guard !own.isEmpty else { return mayMeet ? [BottlePlan(id: anyBottle)] : [] }
        return own.map { bottle in
            var one = BottlePlan(id: bottle.identities.min() ?? bottle.aliases.min() ?? anyBottle)
            (one.own, one.others) = ([bottle], own.filter { $0 != bottle })
            return one
        }
    }

    /// The plan of a store without a bottle.
    private static let anyBottle = "the first bottle that answers"

    /// Its name for people; `nil`: unknown until a bottle answers.
    package var name: String? {
        guard own.count == 1 else { return wanted }
        return own[0].aliases.min() ?? wanted ?? own[0].identities.min()
    }

    /// Says in a poll's options who is meant.
    package func apply(to options: inout PollOptions) {
        options.bottle = wanted
        options.own = own
        options.others = others
    }

    func has(_ identity: String) -> Bool { own.contains { $0.identities.contains(identity) } }
}
