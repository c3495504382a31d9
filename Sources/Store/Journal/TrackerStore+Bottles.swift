import GRDB
package import TrackerCore

package struct KnownBottle: Hashable, Sendable, Decodable, FetchableRecord {
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
    package var lastPoll: Instant?
    /// The end of the last poll that read the whole log.
    package var lastCompletePoll: Instant?
}

extension TrackerStore {
    /// The bottles in the order of their first records.
    package func bottles() throws -> [KnownBottle] {
        try all(
            """
            SELECT *, (SELECT json_group_array(name) FROM bottle_name WHERE bottle = b.id) AS names,
                (SELECT json_group_array(name) FROM bottle_name WHERE bottle = b.id AND NOT isAlias) AS identities
            FROM bottle b ORDER BY id
            """)
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
            let known = try BottleTable.findIdentity(identity, db)
            guard let other else {
                if let known, try BottleTable.isOwn(known, db) { return false }
                try BottleTable.setOwn(BottleTable.findOrAdd(identity, db), db)
                return true
            }
            let bottle = try BottleTable.require(other, db)
            let isOwn = try BottleTable.isOwn(bottle, db)
            try BottleTable.setOwn(bottle, db)
            if known == bottle { return !isOwn }
            guard known == nil else {
                throw Refusal("bottleNameTaken", "\"\(identity)\" is already another bottle with its own history.")
            }
            try db.run("INSERT INTO bottle_name (name, bottle) VALUES (?, ?)", [identity, bottle])
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
            try db.run("UPDATE bottle SET isOwn = 0 WHERE isOwn AND id = ?", [try BottleTable.require(name, db)])
            return db.changesCount == 1
        }
    }
}

/// The numbers of stored records by verdict.
package struct JournalCounts: Hashable, Sendable, Decodable, FetchableRecord {
    package var drinks: Int
    package var notDrinks: Int
    /// The number of quarantined records: stored, but not counted, because their date is missing or not reliable.
    package var quarantined: Int
}

extension TrackerStore {
    package func journalCounts() throws -> JournalCounts {
        try first(
            """
            SELECT count(*) FILTER (WHERE verdict = 'drink') AS drinks,
                count(*) FILTER (WHERE verdict = 'notADrink') AS notDrinks,
                count(*) FILTER (WHERE verdict = 'quarantined') AS quarantined FROM bottle_record
            """) ?? JournalCounts(drinks: 0, notDrinks: 0, quarantined: 0)
    }
}
