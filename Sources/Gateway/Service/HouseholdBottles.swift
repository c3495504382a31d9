import Bluetooth

/// Whose bottles are whose, where several people live with one service. What a person lists is that person's; what is
/// not listed belongs to whose store adopted it; and where two stores call one bottle their own, it is that one's to
/// which it brought records first.
public struct HouseholdBottles: Sendable {
    /// One person's part.
    public struct Share: Sendable {
        /// Who it is.
        public var person: String
        /// By which link the bottles are met.
        public var link: String
        /// The bottles that are listed at the person: addresses or names.
        public var listed: [String]
        /// The bottles of the person's store.
        public var own: [OwnBottle]
        /// Who is not served any more: the bottles are not to be had for nothing, but whose store has one, too, may go
        /// on with it.
        public var isGone: Bool

        public init(person: String, link: String, listed: [String] = [], own: [OwnBottle] = [], isGone: Bool = false) {
            self.isGone = isGone
            self.person = person
            self.link = link
            self.listed = listed
            self.own = own
        }

        fileprivate var hasNone: Bool { listed.isEmpty && own.isEmpty && !isGone }
        fileprivate var addresses: Set<String> { Set(listed.map { BluetoothAddress($0)?.description ?? $0 }) }
    }

    private let shares: [Share]

    /// - Parameter shares: in the order of the list.
    public init(_ shares: [Share]) { self.shares = shares }

    /// The bottles that are somebody else's than this person's.
    public func foreign(to person: String) -> [ForeignBottle] {
        guard let place = shares.firstIndex(where: { $0.person == person }) else { return [] }
        let mine = shares[place]
        return shares.enumerated().filter { $0.offset != place }.flatMap { index, other in
            let listed = other.listed.map { text in
                let address = BluetoothAddress(text)?.description
                return ForeignBottle(
                    owner: other.person, identities: address.map { [$0] } ?? [], name: address == nil ? text : nil)
            }
            let adopted = other.own.compactMap { bottle -> ForeignBottle? in
                let identities = bottle.identities.subtracting(mine.addresses).filter { identity in
                    guard let here = mine.own.first(where: { $0.identities.contains(identity) }) else { return true }
                    // What only stands in for an address may be borne by two bottles: each store tells its own by their
                    // logs.
                    guard BluetoothAddress(identity) != nil, !other.isGone else { return false }
                    return (bottle.since ?? .max, index) < (here.since ?? .max, place)
                }
                return identities.isEmpty ? nil : ForeignBottle(owner: other.person, identities: identities)
            }
            return listed + adopted
        }
    }

    /// A bottle that two stores call their own.
    public struct Dispute: Hashable, Sendable {
        /// The bottle's identity.
        public var address: String
        /// Whose it is, and who goes without.
        public var owner: String
        /// The other person who calls it theirs.
        public var other: String
    }

    /// The bottles of this person's store that are another's, because they brought records there first.
    public func disputes(of person: String) -> [Dispute] {
        guard let mine = shares.first(where: { $0.person == person }) else { return [] }
        let known = mine.own.reduce(into: Set<String>()) { $0.formUnion($1.identities) }
        let listed = shares.reduce(into: Set<String>()) { $0.formUnion($1.addresses) }
        let disputes = foreign(to: person).flatMap { bottle in
            // Whose a listed one is was said.
            bottle.identities.intersection(known).subtracting(listed).map {
                Dispute(address: $0, owner: bottle.owner, other: person)
            }
        }
        return Set(disputes).sorted { $0.address < $1.address }
    }

    /// Whether the first bottle that answers may become this person's own: only where nobody else waits for one on the
    /// same link.
    public func mayMeet(_ person: String) -> Bool { rivals(of: person).isEmpty }

    /// Who else waits for a bottle on this person's link, where this person does.
    public func rivals(of person: String) -> [String] {
        guard let mine = shares.first(where: { $0.person == person }), mine.hasNone else { return [] }
        return shares.filter { $0.person != person && $0.link == mine.link && $0.hasNone }.map(\.person)
    }
}
