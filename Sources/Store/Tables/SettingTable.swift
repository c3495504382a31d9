import GRDB
import TrackerCore

enum SettingTable {
    static func texts(_ db: Database) throws -> [String: String] {
        let rows = try Row.fetchAll(try db.cachedStatement(sql: "SELECT name, value FROM setting"))
        return Dictionary(rows.map { ($0["name"] as String, $0["value"] as String) }, uniquingKeysWith: { _, last in last })
    }

    /// Keeps what differs from the defaults.
    static func save(_ settings: Settings, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM setting")
        for (name, value) in settings.stored {
            try db.execute(sql: "INSERT INTO setting (name, value) VALUES (?, ?)", arguments: [name, value])
        }
    }
}
