import Bluetooth

/// The bottles that a poll may drain and send commands to: those of its store. An empty store adopts the first bottle
/// that responds. Other bottles are left alone until the user adds them, by `adopt` or by naming them. Draining a
/// neighbour's bottle would delete its owner's log.
package struct Ownership: Sendable {
    private let options: PollOptions

    package init(_ options: PollOptions) {
        self.options = options
    }

    /// Whether no bottle was named, or one of the store's own. A missing bottle of another name does not concern the
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

    /// The allowed bottles; `nil`: any.
    private var candidates: [OwnBottle]? {
        guard let wanted = options.bottle else { return options.own.isEmpty ? nil : options.own }
        // An address is unique. Several bottles may have the same name: then it selects the one known by it.
        guard BluetoothAddress(wanted) == nil else { return nil }
        let known = options.own.filter { $0.advertisedName?.lowercased() == wanted.lowercased() }
        if !known.isEmpty { return known }
        // An own bottle that was never connected may have that name; without any, each bottle of that name matches.
        let unmet = options.own.filter { $0.advertisedName == nil }
        return unmet.isEmpty ? nil : unmet
    }

    func allows(identity: String) -> Bool {
        guard !options.elsewhere.contains(identity) else { return false }
        guard let candidates else { return true }
        if options.bottle == identity { return true }
        return candidates.contains { $0.answers(to: identity, alias: options.alias) }
    }

    /// Whether an advertisement may come from an allowed bottle. A private address, or a bottle without a known
    /// address, can only be identified on a connection.
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

    /// Why a bottle was skipped.
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
