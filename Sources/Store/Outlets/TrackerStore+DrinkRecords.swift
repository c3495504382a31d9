import GRDB
import TrackerCore

/// What the bottle said of a drink.
public struct DrinkRecord: Hashable, Sendable {
    /// As it came.
    public var raw: [UInt8]
    /// When it was received, by the clock of then.
    public var received: Instant
}

extension TrackerStore {
    /// The bottle's records behind drinks, by the drinks' keys. What came from elsewhere has none.
    public func records(ofDrinks keys: [String]) throws -> [String: DrinkRecord] {
        try read { db in
            let find = try db.cachedStatement(
                sql: """
                    SELECT r.raw, r.received FROM drink d JOIN bottle b ON b.id = d.bottle
                        JOIN bottle_record r ON r.bottle = d.bottle AND r.verdict = 'drink' AND r.isDrink AND d.key = \
                    b.origin || '|' || r.wall || '|' || r.amountMl
                            AND r.wall = substr(d.key, length(b.origin) + 2, 19)
                    WHERE d.key = ? LIMIT 1
                    """)
            var records: [String: DrinkRecord] = [:]
            for key in keys {
                guard let row = try Row.fetchOne(find, arguments: [key]) else { continue }
                records[key] = DrinkRecord(raw: row.bytes("raw"), received: try row.instant("received"))
            }
            return records
        }
    }
}
