import Bluetooth

/// Which bottles a poll may drain, and a command may be sent to: those of its store. The first that answers an empty
/// store becomes its own; another one is left alone until a person says that it belongs here too, by `adopt` or by
/// naming it. A neighbour's bottle, drained once, has lost its log for its owner.
package struct Ownership: Sendable {
    private let options: PollOptions

    /// From a poll's options: what belongs here, and what was named.
    package init(_ options: PollOptions) {
        self.options = options
    }

    /// Whether no bottle was named, or one of the store's own. A missing bottle of another name says nothing about the
    /// store's bottles.
    package var isAboutOwn: Bool {
        guard let wanted = options.bottle else { return true }
        let selector = BottleSelector(text: wanted)
        return options.own.contains { own in
            own.identities.union(own.aliases).contains {
                $0 == wanted || selector.matches(address: BluetoothAddress($0), name: own.advertisedName)
            }
        }
    }

    /// The bottles among which a poll must stay; `nil`: any will do.
    private var candidates: [OwnBottle]? {
        guard let wanted = options.bottle else { return options.own.isEmpty ? nil : options.own }
        // An address says who is meant. A name may be borne by several: then it means the one that is known by it.
        guard BluetoothAddress(wanted) == nil else { return nil }
        let known = options.own.filter { $0.advertisedName?.lowercased() == wanted.lowercased() }
        if !known.isEmpty { return known }
        // An own bottle that was never connected may have that name; without any, each bottle of that name is meant.
        let unmet = options.own.filter { $0.advertisedName == nil }
        return unmet.isEmpty ? nil : unmet
    }

    /// Whether this bottle, whose identity is certain, may be drained.
    func allows(identity: String) -> Bool {
        guard !options.elsewhere.contains(identity) else { return false }
        guard let candidates else { return true }
        if options.bottle == identity { return true }
        return candidates.contains { $0.answers(to: identity, alias: options.alias) }
    }

    /// Whether an advertisement may be one of them. A private address, or a bottle without a known address, can only be
    /// identified on a connection.
    package func mayBeOwn(_ advertisement: Advertisement) -> Bool {
        guard let candidates else { return true }
        if let address = advertisement.address?.description,
            candidates.contains(where: { $0.identities.contains(address) })
        {
            return true
        }
        return candidates.contains { bottle in
            let hasAddress = bottle.identities.contains { BluetoothAddress($0) != nil }
            return !hasAddress
                || advertisement.isAddressPrivate
                    && (advertisement.name == nil || advertisement.name == bottle.advertisedName)
        }
    }

    /// Why a bottle was left alone.
    func refusal(name: String?, identity: String) -> PollFailure {
        let who = name.map { "\($0) (\(identity))" } ?? identity
        if options.others.contains(where: { $0.identities.contains(identity) }) {
            return PollFailure(
                .notFound, "it is not here; \(who), another bottle of this store, is.", linkError: .notFound)
        }
        if options.elsewhere.contains(identity) {
            return PollFailure(
                .notOurs, "\(who) belongs to another gateway on this machine; nothing was taken from it.",
                code: "elsewhere")
        }
        let left = options.job == .poll ? "taken from" : "sent to"
        let own = options.own.map { $0.aliases.sorted().first ?? $0.identities.sorted().first ?? "another" }.joined(
            separator: ", ")
        return PollFailure(
            .notOurs, "\(who) is here, but this store belongs to \(own); nothing was \(left) it.",
            values: ["identity": identity, "own": own])
    }
}
