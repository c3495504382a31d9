import TrackerDesk

/// What a caller may do, and with whose day. A token is one store's, and opens that person's day only.
struct Rights: Sendable {
    /// What somebody was let in by.
    struct Key: Sendable {
        var scope: Scope
        var token: String
    }

    /// By the person's name.
    var keys: [String: Key] = [:]
    /// With everybody else's day: who sits at this machine needs no key. `nil`: nothing.
    var otherwise: Scope?
    /// A token was shown, and not only a browser's cookie: the caller knows what it is good for.
    var isBearer = false

    /// Who was let in with less may do here what they could do without: a cookie takes nothing away.
    func scope(for person: String) -> Scope? { [keys[person]?.scope, otherwise].compactMap(\.self).max() }

    /// Whose days the caller may look at. Who administers the first person's day sees to the household.
    /// - Parameter people: in their order.
    func visible(of people: [String]) -> [String] {
        if let first = people.first, keys[first]?.scope == .admin { return people }
        return people.filter { scope(for: $0) != nil }
    }

    /// Who is meant where nobody is named.
    /// - Parameters:
    ///   - people: in their order.
    ///   - host: whose address this is, where it is one person's.
    func meant(of people: [String], host: String?) -> String? {
        host ?? people.first { keys[$0] != nil } ?? people.first
    }
}
