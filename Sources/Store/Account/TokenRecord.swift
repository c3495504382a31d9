import GRDB
package import TrackerCore
import Utilities

/// An access token, of which only the SHA-256 digest is stored.
package struct TokenRecord: Hashable, Sendable, Decodable, FetchableRecord {
    package var id: String
    package var label: String
    package var createdAt: Instant
    /// The last use, to the day; `nil` if it was never used.
    package var lastUsedAt: Instant?
    /// The time of revocation; `nil` while the token is valid.
    package var revokedAt: Instant?
    /// The scope: `widget`, `read`, `log`, `control` or `admin`. Each includes the ones before it.
    package var scope: String

    /// Seconds without use after which a token expires.
    package static let unusedLimit: Double = 90 * 86_400

    package var expiresAt: Instant { (lastUsedAt ?? createdAt).advanced(seconds: Self.unusedLimit) }
}

extension TrackerStore {
    /// Stores the SHA-256 digest of a new token. The caller shows the token once and never stores it.
    /// - Parameter token: random text of at least 128 bits.
    package func addToken(_ token: String, label: String, scope: String = "control", _ context: WriteContext) throws
        -> TokenRecord
    {
        try write { db in
            let record = TokenRecord(id: context.makeID(), label: label, createdAt: context.now, scope: scope)
            try db.run(
                "INSERT INTO token (id, hash, label, createdAt, scope) VALUES (?, ?, ?, ?, ?)",
                [record.id, SHA256.hex(token.utf8), label, context.now, scope])
            return record
        }
    }

    /// Returns a token that is neither revoked nor expired. Stores its use once a day.
    package func authenticate(_ token: String, at now: Instant) throws -> TokenRecord? {
        let record: TokenRecord? = try first(
            "SELECT * FROM token WHERE hash = ? AND revokedAt IS NULL", [SHA256.hex(token.utf8)])
        guard let record, now < record.expiresAt else { return nil }
        guard record.lastUsedAt.map({ $0.seconds(to: now) >= 86_400 }) ?? true else { return record }
        // A store that cannot be written now must still accept the token.
        try? write { try $0.run("UPDATE token SET lastUsedAt = ? WHERE id = ?", [now, record.id]) }
        return record
    }

    package func tokens() throws -> [TokenRecord] {
        try all("SELECT * FROM token ORDER BY createdAt, id")
    }

    /// Revokes the token whose id has this prefix; `nil` revokes all.
    /// - Returns: the number of revoked tokens.
    /// - Throws: `Refusal` if none or several match. Nothing is revoked then.
    package func revokeTokens(_ beginning: String?, _ context: WriteContext) throws -> Int {
        // Ids are hexadecimal. SQLite would stop at a NUL byte, and an empty prefix would match all.
        guard beginning?.isEmpty != true, beginning?.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) ?? true else {
            throw Refusal("noSuchToken", "No valid token has this ID.", category: .notFound)
        }
        return try write { db in
            try db.run(
                """
                UPDATE token SET revokedAt = ?1
                WHERE revokedAt IS NULL AND (?2 IS NULL OR substr(id, 1, length(?2)) = ?2)
                """, [context.now, beginning])
            let count = db.changesCount
            guard count > 0 else {
                throw Refusal("noSuchToken", "No valid token has this ID.", category: .notFound)
            }
            guard count == 1 || beginning == nil else {
                throw Refusal("severalTokens", "\(count) tokens have an ID with this beginning. Give more characters.")
            }
            return count
        }
    }
}
