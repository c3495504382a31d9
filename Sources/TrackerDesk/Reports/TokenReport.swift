import Store
import TrackerCore

/// A token given out, without the token itself.
public struct TokenReport: Hashable, Sendable, Encodable {
    public let record: TokenRecord

    public init(_ record: TokenRecord) { self.record = record }

    enum CodingKeys: String, CodingKey { case id, label, createdAt, isRevoked }

    public func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: CodingKeys.self)
        try keys.encode(record.id, forKey: .id)
        try keys.encode(record.label, forKey: .label)
        try keys.encode(record.createdAt.description, forKey: .createdAt)
        try keys.encode(record.revokedAt != nil, forKey: .isRevoked)
    }
}

/// All tokens ever given out, oldest first.
public struct TokenList: Hashable, Sendable, Encodable {
    public let tokens: [TokenReport]
}

/// A token, once.
public struct NewToken: Hashable, Sendable, Encodable {
    public let id: String
    public let label: String
    public let token: String
}

/// How many tokens were revoked.
public struct Revocation: Hashable, Sendable, Encodable {
    public let revoked: Int
}
