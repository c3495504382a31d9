import GRDB
import TrackerCore

enum BottleTable {
    /// The counter with `BottleMemory.newestReceipt`, in milliseconds UTC.
    static let newestReceipt = "journal.newestReceipt"

    /// The row id of the bottle with this identity; adds an unknown one.
    static func identifier(of name: String, _ db: Database) throws -> Int64 {
        if let known = try identified(name, db) { return known }
        guard !["health", "session"].contains(name) else {
            throw Refusal("bottleNameReserved", "invalid bottle \"\(name)\": imported drinks have this name")
        }
        try db.execute(sql: "INSERT INTO bottle (origin, name) VALUES (?, ?)", arguments: [name, name])
        let id = db.lastInsertedRowID
        try db.execute(sql: "INSERT INTO bottle_name (name, bottle) VALUES (?, ?)", arguments: [name, id])
        return id
    }

    /// Finds a bottle by identity, then by alias, for names from the user.
    static func known(_ name: String, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(
            try db.cachedStatement(sql: "SELECT bottle FROM bottle_name WHERE name = ? ORDER BY isAlias LIMIT 1"),
            arguments: [name])
    }

    /// Finds a bottle by identity only, for bottles that answer a poll.
    static func identified(_ name: String, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(
            try db.cachedStatement(sql: "SELECT bottle FROM bottle_name WHERE name = ? AND isAlias = 0"),
            arguments: [name])
    }

    /// Whether a text contains a Bluetooth address, which must not be an alias.
    static func isAddress(_ text: String) -> Bool {
        text.contains(/[0-9A-Fa-f]:[0-9A-Fa-f]{2}:[0-9A-Fa-f]/)
    }

    /// Sets or removes a bottle's alias. Its earlier names stay known.
    /// - Throws: `Refusal` if no bottle has the name `old`, or `new` is an address or names another bottle.
    static func rename(_ old: String, to new: String, _ db: Database) throws {
        guard let id = try known(old, db) else {
            throw Refusal("unknownBottle", "No bottle is known as \"\(old)\".", category: .notFound)
        }
        let taken = try known(new, db)
        guard !new.isEmpty, taken == nil || taken == id else {
            throw Refusal(
                "bottleNameTaken",
                "\"\(new)\" is already another bottle with its own history. Choose another name.")
        }
        if try identified(new, db) != id {
            guard !isAddress(new) else {
                throw Refusal("aliasIsAddress", "invalid alias \"\(new)\": an alias must not be an address")
            }
            try db.execute(
                sql: "INSERT OR IGNORE INTO bottle_name (name, bottle, isAlias) VALUES (?, ?, 1)", arguments: [new, id])
        }
        try db.execute(sql: "UPDATE bottle SET name = ? WHERE id = ?", arguments: [new, id])
    }

    static func identities(of bottle: Int64, _ db: Database) throws -> [String] {
        try String.fetchAll(
            db, sql: "SELECT name FROM bottle_name WHERE bottle = ? AND isAlias = 0 ORDER BY name", arguments: [bottle])
    }

    static func isKnown(_ names: BottleNames, _ db: Database) throws -> Bool {
        guard let id = try identified(names.identity, db) else { return false }
        guard let alias = names.alias else { return true }
        return try known(alias, db) != nil || hasAlias(id, db)
    }

    /// Stores a bottle's identity and alias. An alias belongs to the first bottle that had it; a bottle with an alias
    /// keeps it (`rename` changes it).
    static func introduce(_ names: BottleNames, _ db: Database) throws {
        let id = try identifier(of: names.identity, db)
        guard let alias = names.alias, !isAddress(alias), try known(alias, db) == nil, try !hasAlias(id, db) else {
            return
        }
        try db.execute(sql: "INSERT INTO bottle_name (name, bottle, isAlias) VALUES (?, ?, 1)", arguments: [alias, id])
        try db.execute(sql: "UPDATE bottle SET name = ? WHERE id = ?", arguments: [alias, id])
    }

    /// Removes an alias as the current name; it stays known.
    static func takeAliasBack(_ alias: String, _ db: Database) throws {
        guard let row = try Row.fetchOne(db, sql: "SELECT id, origin FROM bottle WHERE name = ?", arguments: [alias])
        else { return }
        let (id, origin): (Int64, String) = (try row.checked("id"), try row.checked("origin"))
        let names = try identities(of: id, db)
        guard let name = names.contains(origin) ? origin : names.first else { return }
        try db.execute(sql: "UPDATE bottle SET name = ? WHERE id = ?", arguments: [name, id])
    }

    static func isOwn(_ bottle: Int64, _ db: Database) throws -> Bool {
        try Bool.fetchOne(try db.cachedStatement(sql: "SELECT isOwn FROM bottle WHERE id = ?"), arguments: [bottle])
            ?? false
    }

    static func setOwn(_ bottle: Int64, _ db: Database) throws {
        try db.execute(sql: "UPDATE bottle SET isOwn = 1 WHERE id = ?", arguments: [bottle])
        try TrackerStore.forgetInRange(db)
    }

    static func release(_ bottle: Int64, _ db: Database) throws {
        try db.execute(sql: "UPDATE bottle SET isOwn = 0 WHERE id = ?", arguments: [bottle])
    }

    static func memory(of bottle: String, _ db: Database) throws -> BottleMemory {
        let newest = try Int64.fetchOne(
            try db.cachedStatement(
                sql: """
                    SELECT coalesce((SELECT value FROM counter WHERE name = ?), (SELECT max(lastPoll) FROM bottle))
                    """), arguments: [newestReceipt])
        let id = try identified(bottle, db)
        let row = try Row.fetchOne(
            try db.cachedStatement(
                sql: "SELECT lastCompletePoll, lastAgreedPoll, largestReading FROM bottle WHERE id = ?"),
            arguments: [id])
        func instant(_ milliseconds: Int64?) -> Instant? {
            milliseconds.map(Instant.init(milliseconds:)).flatMap { Instant.storable.contains($0) ? $0 : nil }
        }
        return BottleMemory(
            lastCompletePoll: instant(try row?.checked("lastCompletePoll", Int64?.self) ?? nil),
            newestReceipt: instant(newest),
            lastAgreedPoll: instant(try row?.checked("lastAgreedPoll", Int64?.self) ?? nil),
            largestReading: try row?.checkedIfAny("largestReading", in: 0...0xFFFF) ?? 0)
    }

    private static func hasAlias(_ bottle: Int64, _ db: Database) throws -> Bool {
        try Bool.fetchOne(
            try db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM bottle_name WHERE bottle = ? AND isAlias = 1)"),
            arguments: [bottle]) ?? false
    }
}
