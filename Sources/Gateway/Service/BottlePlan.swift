/// One bottle that the service polls.
public struct BottlePlan: Hashable, Sendable, Identifiable {
    /// Who it is to the service: stays the same over reloads.
    public var id: String
    /// What `--bottle` names, in the meaning of `PollOptions.bottle`.
    public var wanted: String?
    /// The bottles that a poll of this plan may drain. Empty: the store has none, and the first that answers becomes its own.
    public var own: [OwnBottle]
    /// The store's other bottles, which have plans of their own.
    public var others: [OwnBottle]

    public init(id: String, wanted: String? = nil, own: [OwnBottle] = [], others: [OwnBottle] = []) {
        self.id = id
        self.wanted = wanted
        self.own = own
        self.others = others
    }

    /// The plans of a store: the bottle that a person named, or each of the store's own, or the first that answers.
    public static func plans(wanted: String?, own: [OwnBottle]) -> [BottlePlan] {
        if let wanted { return [BottlePlan(id: wanted, wanted: wanted, own: own)] }
        guard !own.isEmpty else { return [BottlePlan(id: anyBottle)] }
        return own.map { one in
            BottlePlan(id: one.identities.min() ?? one.aliases.min() ?? anyBottle, own: [one], others: own.filter { $0 != one })
        }
    }

    /// The plan of a store without a bottle.
    private static let anyBottle = "the first bottle that answers"

    /// What people call it; `nil`: nobody knows yet who will answer.
    public var name: String? { own.count == 1 ? own[0].aliases.min() ?? id : id == Self.anyBottle ? nil : id }

    /// Says in a poll's options who is meant.
    public func apply(to options: inout PollOptions) {
        options.bottle = wanted
        options.own = own
        options.others = others
    }

    func has(_ identity: String) -> Bool { own.contains { $0.identities.contains(identity) } }
}
