import GRDB
import TrackerCore

/// What the store knows of one bottle.
package struct KnownBottle: Hashable, Sendable {
    /// The identity it was first seen under; it never changes.
    package var origin: String
    /// The identity it goes by now.
    package var name: String
    /// Every identity it is or was known by, `name` among them.
    package var names: [String]
    /// Those of them that it has by itself: addresses, serial numbers. The others are aliases that people gave.
    package var identities: [String]
    /// It answered a poll, or a person said so; `false` of one whose records came from a recording.
    package var isOwn: Bool
    /// The name that it showed on the air.
    package var advertisedName: String?
    /// Its model in lower case, where it is known.
    package var model: String?
    /// Charge of its battery, 0–100, as it said last.
    package var batteryPercent: Int?
    /// Bottle's clock minus host's, seconds.
    package var clockDriftSeconds: Int?
    /// End of the last poll and of the last one that read the whole log, milliseconds UTC.
    package var lastPollMilliseconds: Int64?
    /// End of the last poll that read the whole log, ms since 1970 UTC.
    package var lastCompletePollMilliseconds: Int64?
    /// When it brought the first of its records here, milliseconds UTC.
    package var firstRecordMilliseconds: Int64?
}

extension TrackerStore {
    /// All bottles, in the order they were first seen.
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

    /// Makes a bottle this store's own before it has delivered anything, or gives a bottle that is here another
    /// identity under which it answers.
    /// - Parameters:
    ///   - identity: its address, or what `scan` and a poll call it.
    ///   - other: the bottle of this store that it is; `nil` for one of its own.
    /// - Returns: `false` where it was this store's own already.
    /// - Throws: `Refusal` where nobody goes by `other`, or the identity already is another bottle with a history.
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
                throw Refusal("bottleNameTaken", "\"\(identity)\" already is another bottle with a history of its own.")
            }
            try db.execute(sql: "INSERT INTO bottle_name (name, bottle) VALUES (?, ?)", arguments: [identity, bottle])
            return true
        }
    }

    /// A bottle is this store's own no more: polls leave it alone, and nobody is told of it among the store's bottles.
    /// Its records and drinks stay.
    /// - Parameter name: any that it is known by.
    /// - Returns: `false` where it was not this store's own.
    /// - Throws: `Refusal` for a name that no bottle has.
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

    /// Gives a bottle another identity without losing history: the old one stays known and means the same bottle, so
    /// that records delivered again under either are duplicates.
    /// - Throws: `Refusal` when no bottle goes by `old`, or `new` already is another bottle.
    package func renameBottle(_ old: String, to new: String) throws {
        try write { db in try BottleTable.rename(old, to: new, db) }
    }
}

/// How many records of each kind the journal holds.
package struct JournalCounts: Hashable, Sendable {
    /// Records that count.
    package var drinks: Int
    /// Well-formed records that are no drinks.
    package var notDrinks: Int
    /// Records that are kept and wait for a date.
    package var quarantined: Int

    package init(drinks: Int, notDrinks: Int, quarantined: Int) {
        self.drinks = drinks
        self.notDrinks = notDrinks
        self.quarantined = quarantined
    }
}

extension TrackerStore {
    /// Counts the bottles' records; manual drinks are not among them.
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
