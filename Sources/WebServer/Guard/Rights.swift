import TrackerService

/// What a caller may do.
struct Rights: Sendable {
    /// The token that a request carried.
    struct Key: Sendable {
        var scope: Scope
        var token: String
    }

    /// `nil` when the request carried no valid token.
    var key: Key?
    /// The scope without a token; `nil`: none.
    var otherwise: Scope?
    /// The token was in the `Authorization` header, and not in a cookie.
    var isBearer = false

    /// A token does not take away what the caller may do without it.
    var scope: Scope? { [key?.scope, otherwise].compactMap(\.self).max() }
}
