import GRDB
import TrackerCore

enum SettingTable {
    /// A setting's name and value.
    /// - Throws: `UnreadableRow`.
    static func pair(_ row: Row) throws -> (name: String, value: String) {
        (try row.checked("name"), try row.checked("value"))
    }

    static func texts(_ db: Database) throws -> [String: String] {
        let pairs = try Row.readable(try db.cachedStatement(sql: "SELECT name, value FROM setting"), pair)
        return Dictionary(pairs, uniquingKeysWith: { _, last in last })
    }

    /// What is in force: what a row may not say counts as unsaid, here as everywhere.
    static func settings(_ db: Database) throws -> Settings { Settings.restored(from: try texts(db)).settings }

    /// What a bottle has of its own.
    static func texts(ofBottle bottle: Int64, _ db: Database) throws -> [String: String] {
        let pairs = try Row.readable(
            try db.cachedStatement(sql: "SELECT name, value FROM bottle_setting WHERE bottle = ?"), arguments: [bottle],
            pair)
        return Dictionary(pairs, uniquingKeysWith: { _, last in last })
    }

    /// Gives a bottle a setting of its own, or takes it back.
    static func save(_ text: String?, as name: String, ofBottle bottle: Int64, _ db: Database) throws {
        guard let text else {
            return try db.execute(
                sql: "DELETE FROM bottle_setting WHERE bottle = ? AND name = ?", arguments: [bottle, name])
        }
        try db.execute(
            sql: "INSERT OR REPLACE INTO bottle_setting (bottle, name, value) VALUES (?, ?, ?)",
            arguments: [bottle, name, text])
    }

    /// Keeps what differs from the defaults.
    static func save(_ settings: Settings, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM setting")
        for (name, value) in settings.stored {
            try db.execute(sql: "INSERT INTO setting (name, value) VALUES (?, ?)", arguments: [name, value])
        }
    }
}
