import Cryptography
import Foundation
import GRDB
import TrackerCore

extension TrackerStore {
    /// So many browsers at most: each costs a request for each notification.
    public static let pushLimit = 32

    /// The key by which push services know this store; made once.
    /// - Parameter make: a new one; what it throws is thrown, and nothing is stored.
    public func pushKey(make: () throws -> [UInt8]) throws -> [UInt8] {
        func known(_ db: Database) throws -> [UInt8]? {
            try Data.fetchOne(db, sql: "SELECT private FROM push_key").map { Array($0) }
        }
        if let key = try read(known) { return key }
        return try write { db in
            if let key = try known(db) { return key }
            let key = try make()
            try db.execute(sql: "INSERT INTO push_key (only, private) VALUES (1, ?)", arguments: [Data(key)])
            return key
        }
    }

    /// The browsers that notifications are pushed to, in the order of coming.
    public func pushSubscriptions() throws -> [PushSubscription] {
        try read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM push_subscription ORDER BY since, id").readable(
                PushSubscription.init(row:))
        }
    }

    /// `nil` where there is none any more.
    public func pushSubscription(_ id: String) throws -> PushSubscription? {
        try read { db in
            try Row.fetchOne(db, sql: "SELECT * FROM push_subscription WHERE id = ?", arguments: [id]).map(
                PushSubscription.init(row:))
        }
    }

    /// Remembers a browser; one whose endpoint is known keeps its id and takes the new keys.
    /// - Parameter token: by which it was let in: it hears no more when that is revoked. `nil`: a page of this machine.
    /// - Throws: `Refusal` where there are too many already.
    public func subscribe(_ subscription: PushSubscription, letInBy token: String?) throws {
        try write { db in
            let others =
                try Int.fetchOne(
                    db, sql: "SELECT count(*) FROM push_subscription WHERE id <> ?", arguments: [subscription.id]) ?? 0
            guard others < Self.pushLimit else {
                throw Refusal(
                    "tooManyBrowsers",
                    """
                    \(Self.pushLimit) browsers get notifications already: switch them off in one that needs them \
                    no more.
                    """
                )
            }
            try db.execute(
                sql: """
                    INSERT INTO push_subscription (id, endpoint, p256dh, auth, label, since, token)
                    VALUES (?, ?, ?, ?, ?, ?, (SELECT id FROM token WHERE hash = ? AND revokedAt IS NULL))
                    ON CONFLICT (id) DO UPDATE SET p256dh = excluded.p256dh, auth = excluded.auth, label = \
                    excluded.label, token = excluded.token
                    """,
                arguments: [
                    subscription.id, subscription.endpoint, Data(subscription.publicKey), Data(subscription.secret),
                    subscription.label, subscription.since.milliseconds,
                    token.map { SHA256.hex($0.utf8) },
                ])
        }
    }

    /// Nothing is pushed there any more, and what waited for it is forgotten.
    /// - Returns: whether it was there.
    @discardableResult
    public func unsubscribe(_ id: String) throws -> Bool {
        try write { db in
            try db.execute(sql: "DELETE FROM push_subscription WHERE id = ?", arguments: [id])
            let wasThere = db.changesCount > 0
            for table in ["pocket_message", "pocket_trouble", "told_through"] {
                try db.execute(sql: "DELETE FROM \(table) WHERE outlet = ?", arguments: [PushSubscription.outlet(id)])
            }
            return wasThere
        }
    }

    /// Who is let in no more hears no more.
    static func unsubscribeRevoked(_ db: Database) throws {
        let gone = "SELECT id FROM push_subscription WHERE token IN (SELECT id FROM token WHERE revokedAt IS NOT NULL)"
        for table in ["pocket_message", "pocket_trouble", "told_through"] {
            try db.execute(sql: "DELETE FROM \(table) WHERE outlet IN (SELECT 'push-' || id FROM (\(gone)))")
        }
        try db.execute(sql: "DELETE FROM push_subscription WHERE id IN (\(gone))")
    }
}
