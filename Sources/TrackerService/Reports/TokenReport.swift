import Store
import TrackerCore

/// A token given out, without the token itself.
package struct TokenReport: Hashable, Sendable, Encodable {
    /// What is known of it.
    package let record: TokenRecord

    package init(_ record: TokenRecord) { self.record = record }

    enum CodingKeys: String, CodingKey { case id, label, scope, createdAt, isRevoked }

    package func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: CodingKeys.self)
        try keys.encode(record.id, forKey: .id)
        try keys.encode(record.label, forKey: .label)
        try keys.encode(record.scope, forKey: .scope)
        try keys.encode(record.createdAt.description, forKey: .createdAt)
        try keys.encode(record.revokedAt != nil, forKey: .isRevoked)
    }
}

/// All tokens ever given out, oldest first.
package struct TokenList: Hashable, Sendable, Encodable {
    /// Oldest first.
    package let tokens: [TokenReport]
}

/// A token, once.
package struct NewToken: Hashable, Sendable, Encodable {
    /// By which it can be taken back.
    package let id: String
    /// What its owner calls it.
    package let label: String
    /// What it is good for.
    package let scope: Scope
    /// The token itself: it is shown this once.
    package let token: String
}

/// How many tokens were revoked.
package struct Revocation: Hashable, Sendable, Encodable {
    /// How many were taken back.
    package let revoked: Int
}
