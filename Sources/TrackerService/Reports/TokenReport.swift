import Store
import TrackerCore

/// A token given out, without the token itself.
public struct TokenReport: Hashable, Sendable, Encodable {
    /// What is known of it.
    public let record: TokenRecord

    public init(_ record: TokenRecord) { self.record = record }

    enum CodingKeys: String, CodingKey { case id, label, scope, createdAt, isRevoked }

    public func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: CodingKeys.self)
        try keys.encode(record.id, forKey: .id)
        try keys.encode(record.label, forKey: .label)
        try keys.encode(record.scope, forKey: .scope)
        try keys.encode(record.createdAt.description, forKey: .createdAt)
        try keys.encode(record.revokedAt != nil, forKey: .isRevoked)
    }
}

/// All tokens ever given out, oldest first.
public struct TokenList: Hashable, Sendable, Encodable {
    /// Oldest first.
    public let tokens: [TokenReport]
}

/// A token, once.
public struct NewToken: Hashable, Sendable, Encodable {
    /// By which it can be taken back.
    public let id: String
    /// What its owner calls it.
    public let label: String
    /// What it is good for.
    public let scope: Scope
    /// The token itself: it is shown this once.
    public let token: String
}

/// How many tokens were revoked.
public struct Revocation: Hashable, Sendable, Encodable {
    /// How many were taken back.
    public let revoked: Int
}
