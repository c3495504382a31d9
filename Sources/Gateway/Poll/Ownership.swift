import Bluetooth

/// The bottles that a poll may drain and send commands to: those of its store. An empty store adopts the first bottle
/// that responds. The user adds other bottles by `adopt` or by name. Draining another bottle would delete its owner's
/// log.
package struct Ownership: Sendable {
    private let options: PollOptions

    package init(_ options: PollOptions) {
        self.options = options
    }

    /// Whether the poll is for the store's bottles: the user named none, or one of them.
    package var isAboutOwn: Bool {
        guard let wanted = options.bottle else { return true }
        let selector = BottleSelector(text: wanted)
        return options.own.contains { own in
            own.identities.union(own.aliases).contains {
                $0 == wanted || selector.matches(address: BluetoothAddress($0), name: own.advertisedName)
            }
        }
    }

    /// The allowed bottles; `nil` if any bottle is allowed.
    private var candidates: [AdoptedBottle]? {
        guard let wanted = options.bottle else { return options.own.isEmpty ? nil : options.own }
        // An address is unique. If several bottles have the name, it selects the one known by it.
        guard BluetoothAddress(wanted) == nil else { return nil }
        let known = options.own.filter { $0.advertisedName?.lowercased() == wanted.lowercased() }
        if !known.isEmpty { return known }
        // An own bottle that was never connected may have that name. If none was, each bottle of that name matches.
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

    /// The reason why a bottle was skipped.
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
