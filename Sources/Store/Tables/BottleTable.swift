import GRDB
import TrackerCore

/// Access to the tables `bottle` and `bottle_name`.
enum BottleTable {
    /// The name in the table `counter` for the last receipt by a trusted clock (milliseconds since 1970-01-01 UTC).
    static let newestReceipt = "journal.newestReceipt"

    /// The row id of the bottle with this identity; adds an unknown one.
    static func findOrAdd(_ name: String, _ db: Database) throws -> Int64 {
        if let known = try findIdentity(name, db) { return known }
        guard !["health", "session"].contains(name) else {
            throw Refusal("bottleNameReserved", "invalid bottle \"\(name)\": imported drinks have this name")
        }
        try db.run("INSERT INTO bottle (origin, name) VALUES (?, ?)", [name, name])
        let id = db.lastInsertedRowID
        try db.run("INSERT INTO bottle_name (name, bottle) VALUES (?, ?)", [name, id])
        return id
    }

    /// Finds a bottle by identity, then by alias, for names from the user.
    static func find(_ name: String, _ db: Database) throws -> Int64? {
        try db.first("SELECT bottle FROM bottle_name WHERE name = ? ORDER BY isAlias LIMIT 1", [name])
    }

    /// Finds a bottle by identity, then by alias.
    /// - Throws: `Refusal` if no bottle has the name.
    static func require(_ name: String, _ db: Database) throws -> Int64 {
        guard let id = try find(name, db) else {
            throw Refusal(
                "unknownBottle", "No bottle is known as \"\(name)\".", category: .notFound, values: ["given": name])
        }
        return id
    }

    /// Finds a bottle by identity only, for bottles that answer a poll.
    static func findIdentity(_ name: String, _ db: Database) throws -> Int64? {
        try db.first("SELECT bottle FROM bottle_name WHERE name = ? AND isAlias = 0", [name])
    }

    /// Whether a text contains a Bluetooth address, which must not be an alias.
    static func isAddress(_ text: String) -> Bool {
        text.contains(/[0-9A-Fa-f]:[0-9A-Fa-f]{2}:[0-9A-Fa-f]/)
    }

    /// Sets or removes a bottle's alias. Its earlier names stay known.
    /// - Throws: `Refusal` if no bottle has the name `old`, or `new` is an address or names another bottle.
    static func rename(_ old: String, to new: String, _ db: Database) throws {
        let id = try require(old, db)
        let taken = try find(new, db)
        guard !new.isEmpty, taken == nil || taken == id else {
            throw Refusal(
                "bottleNameTaken", "\"\(new)\" is already another bottle with its own history. Choose another name.")
        }
        if try findIdentity(new, db) != id {
            guard !isAddress(new) else {
                throw Refusal("aliasIsAddress", "invalid alias \"\(new)\": an alias must not be an address")
            }
            try db.run("INSERT OR IGNORE INTO bottle_name (name, bottle, isAlias) VALUES (?, ?, 1)", [new, id])
        }
        try db.run("UPDATE bottle SET name = ? WHERE id = ?", [new, id])
    }

    static func identities(of bottle: Int64, _ db: Database) throws -> [String] {
        try db.all("SELECT name FROM bottle_name WHERE bottle = ? AND isAlias = 0 ORDER BY name", [bottle])
    }

    /// The alias that a bottle does not have yet; `nil` if there is none to add. An alias belongs to the first bottle
    /// that had it; a bottle with an alias keeps it (`rename` changes it).
    static func newAlias(_ names: BottleNames, of bottle: Int64, _ db: Database) throws -> String? {
        guard let alias = names.alias, !isAddress(alias), try find(alias, db) == nil,
            try !db.has("FROM bottle_name WHERE bottle = ? AND isAlias = 1", [bottle])
        else { return nil }
        return alias
    }

    /// Stores the identity and the alias of an own bottle.
    static func adopt(_ names: BottleNames, _ db: Database) throws {
        let id = try findOrAdd(names.identity, db)
        try setOwn(id, db)
        guard let alias = try newAlias(names, of: id, db) else { return }
        try db.run("INSERT INTO bottle_name (name, bottle, isAlias) VALUES (?, ?, 1)", [alias, id])
        try db.run("UPDATE bottle SET name = ? WHERE id = ?", [alias, id])
    }

    /// Removes an alias as the current name; it stays known.
    static func removeAlias(_ alias: String, _ db: Database) throws {
        guard let row = try Row.fetchOne(db, sql: "SELECT id, origin FROM bottle WHERE name = ?", arguments: [alias])
        else { return }
        let (id, origin): (Int64, String) = (try row.decode(atIndex: 0), try row.decode(atIndex: 1))
        let names = try identities(of: id, db)
        guard let name = names.contains(origin) ? origin : names.first else { return }
        try db.run("UPDATE bottle SET name = ? WHERE id = ?", [name, id])
    }

    static func isOwn(_ bottle: Int64, _ db: Database) throws -> Bool {
        try db.has("FROM bottle WHERE id = ? AND isOwn", [bottle])
    }

    static func setOwn(_ bottle: Int64, _ db: Database) throws {
        try db.run("UPDATE bottle SET isOwn = 1 WHERE id = ?", [bottle])
        try TrackerStore.deleteInRange(db)
    }

    static func storedState(of bottle: String, _ db: Database) throws -> StoredBottleState {
        let row = try Row.fetchOne(
            db, sql: "SELECT lastCompletePoll, lastAgreedPoll, coalesce(largestReading, 0) FROM bottle WHERE id = ?",
            arguments: [try findIdentity(bottle, db)])
        guard let row else { return StoredBottleState() }
        return StoredBottleState(
            lastCompletePoll: try row.decode(atIndex: 0), lastAcknowledgingPoll: try row.decode(atIndex: 1),
            largestReading: try row.decode(atIndex: 2))
    }
}
