import Bluetooth
import TrackerCore

// The bottles that a poll may use: those of its store. An empty store adopts the first bottle that responds. The user
// adds other bottles with `adopt` or by name. A poll of another person's bottle would delete that person's log.
extension PollOptions {
    /// Whether the user named no bottle, or a bottle of the store.
    package var selectsOwnBottle: Bool {
        guard let selected = bottle else { return true }
        let selector = BottleSelector(text: selected)
        return ownBottles.contains { bottle in
            bottle.identities.union(bottle.aliases).contains {
                $0 == selected || selector.matches(address: BluetoothAddress($0), name: bottle.advertisedName)
            }
        }
    }

    /// The store's bottles that the poll may use; `nil` if it may use any bottle.
    private var candidates: [AdoptedBottle]? {
        guard let selected = bottle else { return ownBottles.isEmpty ? nil : ownBottles }
        // An address is unique. A name selects the bottles of the store that advertise it.
        guard BluetoothAddress(selected) == nil else { return nil }
        let known = ownBottles.filter { $0.advertisedName?.lowercased() == selected.lowercased() }
        if !known.isEmpty { return known }
        // A bottle of the store whose name is unknown can have that name.
        let neverConnected = ownBottles.filter { $0.advertisedName == nil }
        return neverConnected.isEmpty ? nil : neverConnected
    }

    func allows(identity: String) -> Bool {
        guard !bottlesOfOtherServices.contains(identity) else { return false }
        guard let candidates else { return true }
        if bottle == identity { return true }
        return candidates.contains { $0.matches(identity: identity, alias: alias) }
    }

    /// Whether an advertisement may come from an allowed bottle. A private address, or a bottle without a known
    /// address, can only be identified on a connection.
    func mightBeOwn(_ advertisement: Advertisement) -> Bool {
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

    func notOwnedFailure(name: String?, identity: String) -> PollFailure {
        let bottle = name.map { "\($0) (\(identity))" } ?? identity
        if otherBottles.contains(where: { $0.identities.contains(identity) }) {
            return PollFailure(
                .notFound, "it is not in range; \(bottle), another bottle of this store, is in range.",
                linkError: .notFound)
        }
        if bottlesOfOtherServices.contains(identity) {
            return PollFailure(
                .notOwned, "\(bottle) belongs to another gateway on this machine. Its log was not read.",
                code: "elsewhere")
        }
        let reassurance = job == .poll ? "Its log was not read." : "Nothing was sent to it."
        let ownText = ownBottles.map { $0.aliases.sorted().first ?? $0.identities.sorted().first ?? "another" }.joined(
            separator: ", ")
        return PollFailure(
            .notOwned, "\(bottle) is in range, but this store is for \(ownText). \(reassurance)",
            values: ["identity": identity, "own": ownText])
    }
}
