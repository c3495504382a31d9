import GRDB
import TrackerCore

/// Bottles by the identities they are or were known by.
enum BottleTable {
    /// The counter that holds `BottleMemory.newestReceipt`, ms UTC.
    static let newestReceipt = "journal.newestReceipt"

    /// The row of the bottle that goes or went by `name`; a new bottle where nobody did.
    static func identifier(of name: String, _ db: Database) throws -> Int64 {
        if let known = try known(name, db) { return known }
        try db.execute(sql: "INSERT INTO bottle (origin, name) VALUES (?, ?)", arguments: [name, name])
        let id = db.lastInsertedRowID
        try db.execute(sql: "INSERT INTO bottle_name (name, bottle) VALUES (?, ?)", arguments: [name, id])
        return id
    }

    static func known(_ name: String, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(
            try db.cachedStatement(sql: "SELECT bottle FROM bottle_name WHERE name = ?"), arguments: [name])
    }

    /// Gives a bottle another identity; the old one stays known and means the same bottle.
    /// - Throws: `Refusal` when no bottle goes by `old`, or `new` already is another bottle.
    static func rename(_ old: String, to new: String, _ db: Database) throws {
        guard let id = try known(old, db) else {
            throw Refusal("unknownBottle", "No bottle is known as \"\(old)\".", category: .notFound)
        }
        let taken = try known(new, db)
        guard !new.isEmpty, taken == nil || taken == id else {
            throw Refusal(
                "bottleNameTaken",
                "\"\(new)\" already is another bottle with a history of its own. Choose another name.")
        }
        try db.execute(
            sql: "INSERT OR IGNORE INTO bottle_name (name, bottle, isAlias) VALUES (?, ?, 1)", arguments: [new, id])
        try db.execute(sql: "UPDATE bottle SET name = ? WHERE id = ?", arguments: [new, id])
    }

    /// What it is known by without anybody having given it that name: addresses, serial numbers.
    static func identities(of bottle: Int64, _ db: Database) throws -> [String] {
        try String.fetchAll(
            db, sql: "SELECT name FROM bottle_name WHERE bottle = ? AND isAlias = 0 ORDER BY name", arguments: [bottle])
    }

    /// Whether a poll that shows these names tells nothing new.
    static func isKnown(_ names: BottleNames, _ db: Database) throws -> Bool {
        guard let id = try known(names.identity, db) else { return false }
        if let standIn = names.standIn, try known(standIn, db) == nil { return false }
        guard let alias = names.alias else { return true }
        return try known(alias, db) != nil || hasAlias(id, db)
    }

    /// Makes a bottle known. Its identity is always stored, beside any alias. An alias belongs to the first bottle that
    /// bore it; a bottle that has one keeps it (`rename` changes it).
    static func introduce(_ names: BottleNames, _ db: Database) throws {
        if try known(names.identity, db) == nil, let alias = names.alias, let bottle = try known(alias, db),
            try !hasIdentity(bottle, db)
        {
            // Its history was kept under the alias alone: this is who it is.
            try db.execute(
                sql: "INSERT INTO bottle_name (name, bottle) VALUES (?, ?)", arguments: [names.identity, bottle])
        }
        let id = try identifier(of: names.identity, db)
        if let standIn = names.standIn, try known(standIn, db) == nil {
            try db.execute(sql: "INSERT INTO bottle_name (name, bottle) VALUES (?, ?)", arguments: [standIn, id])
        }
        guard let alias = names.alias, alias != names.identity, try known(alias, db) == nil, try !hasAlias(id, db)
        else { return }
        try db.execute(sql: "INSERT INTO bottle_name (name, bottle, isAlias) VALUES (?, ?, 1)", arguments: [alias, id])
        try db.execute(sql: "UPDATE bottle SET name = ? WHERE id = ?", arguments: [alias, id])
    }

    /// Whoever is called so goes by what it is known by itself again, where that is anything; the alias still means it.
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

    /// Makes a known bottle the store's own.
    static func setOwn(_ bottle: Int64, _ db: Database) throws {
        try db.execute(sql: "UPDATE bottle SET isOwn = 1 WHERE id = ?", arguments: [bottle])
    }

    /// It is the store's own no more.
    static func release(_ bottle: Int64, _ db: Database) throws {
        try db.execute(sql: "UPDATE bottle SET isOwn = 0 WHERE id = ?", arguments: [bottle])
    }

    /// Of the bottle that shows these names, where it is known by any of them.
    static func memory(of names: BottleNames, _ db: Database) throws -> BottleMemory {
        if try known(names.identity, db) == nil, let alias = names.alias, let bottle = try known(alias, db),
            try !hasIdentity(bottle, db)
        {
            return try memory(of: alias, db)
        }
        return try memory(of: names.identity, db)
    }

    static func memory(of bottle: String, _ db: Database) throws -> BottleMemory {
        let newest = try Int64.fetchOne(
            try db.cachedStatement(
                sql: """
                    SELECT coalesce((SELECT value FROM counter WHERE name = ?), (SELECT max(lastPoll) FROM bottle))
                    """), arguments: [newestReceipt])
        let id = try known(bottle, db)
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

    private static func hasIdentity(_ bottle: Int64, _ db: Database) throws -> Bool {
        try Bool.fetchOne(
            try db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM bottle_name WHERE bottle = ? AND isAlias = 0)"),
            arguments: [bottle]) ?? false
    }
}
