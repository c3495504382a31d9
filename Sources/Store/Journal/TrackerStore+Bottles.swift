import GRDB
import TrackerCore

package struct KnownBottle: Hashable, Sendable {
    /// The first identity of the bottle, which never changes.
    package var origin: String
    /// The alias, or else the current identity.
    package var name: String
    package var names: [String]
    /// The names that are addresses or serial numbers. The others are aliases.
    package var identities: [String]
    /// Whether the bottle answered a poll or was adopted; `false` for a bottle of a recording.
    package var isOwn: Bool
    package var advertisedName: String?
    /// The model in lower case, if known.
    package var model: String?
    /// The last battery level (0–100 %).
    package var batteryPercent: Int?
    /// The bottle's clock minus the host's, in seconds.
    package var clockDriftSeconds: Int?
    /// The end of the last poll in milliseconds UTC.
    package var lastPollMilliseconds: Int64?
    /// The end of the last poll that read the whole log, in milliseconds UTC.
    package var lastCompletePollMilliseconds: Int64?
    /// The time of the bottle's first record in milliseconds UTC.
    package var firstRecordMilliseconds: Int64?
}

extension TrackerStore {
    /// The bottles in the order of their first records.
    package func bottles() throws -> [KnownBottle] {
        try read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM bottle ORDER BY id").readable { row in
                let id: Int64 = try row.checked("id")
                return KnownBottle(
                    origin: try row.checked("origin"), name: try row.checked("name"),
                    names: try String.fetchAll(
                        db, sql: "SELECT name FROM bottle_name WHERE bottle = ? ORDER BY name", arguments: [id]),
                    identities: try String.fetchAll(
                        db, sql: "SELECT name FROM bottle_name WHERE bottle = ? AND isAlias = 0 ORDER BY name",
                        arguments: [id]),
                    isOwn: try row.checked("isOwn"), advertisedName: try row.checked("advertisedName"),
                    model: try row.checked("model"),
                    batteryPercent: try row.checked("batteryPercent"),
                    clockDriftSeconds: try row.checked("clockDriftSeconds"),
                    lastPollMilliseconds: try row.checked("lastPoll"),
                    lastCompletePollMilliseconds: try row.checked("lastCompletePoll"),
                    firstRecordMilliseconds: try Int64.fetchOne(
                        db, sql: "SELECT received FROM bottle_record WHERE bottle = ? ORDER BY id LIMIT 1",
                        arguments: [id]))
            }
        }
    }

    /// Adopts a bottle before its first poll, or adds an identity to a bottle.
    /// - Parameters:
    ///   - identity: the address, or the name in `scan`.
    ///   - other: the bottle that gets the identity; `nil` for a new bottle.
    /// - Returns: `false` if the bottle was already adopted.
    /// - Throws: `Refusal` if `other` is unknown, or if the identity belongs to another bottle with records.
    @discardableResult
    package func adoptBottle(_ identity: String, as other: String? = nil) throws -> Bool {
        try write { db in
            let known = try BottleTable.identified(identity, db)
            guard let other else {
                if let known, try BottleTable.isOwn(known, db) { return false }
                try BottleTable.setOwn(BottleTable.identifier(of: identity, db), db)
                return true
            }
            guard let bottle = try BottleTable.known(other, db) else {
                throw Refusal("unknownBottle", "No bottle is known as \"\(other)\".", category: .notFound)
            }
            let isOwn = try BottleTable.isOwn(bottle, db)
            try BottleTable.setOwn(bottle, db)
            if known == bottle { return !isOwn }
            guard known == nil else {
                throw Refusal("bottleNameTaken", "\"\(identity)\" is already another bottle with its own history.")
            }
            try db.execute(sql: "INSERT INTO bottle_name (name, bottle) VALUES (?, ?)", arguments: [identity, bottle])
            return true
        }
    }

    /// Releases a bottle: it is no longer polled. Its records and drinks stay.
    /// - Parameter name: any of its names.
    /// - Returns: `false` if the store did not own it.
    /// - Throws: `Refusal` for an unknown name.
    @discardableResult
    package func releaseBottle(_ name: String) throws -> Bool {
        try write { db in
            guard let bottle = try BottleTable.known(name, db) else {
                throw Refusal(
                    "unknownBottle", "No bottle is known as \"\(name)\".", category: .notFound, values: ["given": name])
            }
            guard try BottleTable.isOwn(bottle, db) else { return false }
            try BottleTable.release(bottle, db)
            return true
        }
    }

    /// Adds an identity to a bottle. The old one stays known, so that records under either are duplicates.
    /// - Throws: `Refusal` if `old` is unknown or `new` is another bottle.
    package func renameBottle(_ old: String, to new: String) throws {
        try write { db in try BottleTable.rename(old, to: new, db) }
    }
}

package struct JournalCounts: Hashable, Sendable {
    package var drinks: Int
    package var notDrinks: Int
    /// The number of records without a date.
    package var quarantined: Int

    package init(drinks: Int, notDrinks: Int, quarantined: Int) {
        self.drinks = drinks
        self.notDrinks = notDrinks
        self.quarantined = quarantined
    }
}

extension TrackerStore {
    package func journalCounts() throws -> JournalCounts {
        try read { db in
            let row = try Row.fetchOne(
                db,
                sql: """
                    SELECT count(*) FILTER (WHERE verdict = 'drink') AS drinks,
                        count(*) FILTER (WHERE verdict = 'notADrink') AS others,
                        count(*) FILTER (WHERE verdict = 'quarantined') AS quarantined FROM bottle_record
                    """)
            return JournalCounts(
                drinks: try row?.checked("drinks") ?? 0, notDrinks: try row?.checked("others") ?? 0,
                quarantined: try row?.checked("quarantined") ?? 0)
        }
    }
}
