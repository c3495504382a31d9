import GRDB
import TrackerCore

extension TrackerStore {
    /// Every row that is left out because it cannot be read: for the doctor, who has time to read all.
    package func unreadableRows() throws -> [UnreadableRow] {
        try read { db in
            var found: [UnreadableRow] = []
            func look(_ table: String, _ columns: String = "*", _ read: (Row) throws -> Any) throws {
                let rows = try Row.fetchCursor(db, sql: "SELECT \(columns) FROM \(table)")
                while let row = try rows.next() {
                    do {
                        _ = try read(row)
                    } catch var trouble as UnreadableRow {
                        trouble.table = table
                        found.append(trouble)
                    }
                }
            }
            try look("drink", StoredDrink.columns) { try StoredDrink(row: $0) }
            try look("session") { try SessionTable.session($0) }
            try look("log_entry") { try SessionTable.log($0) }
            try look("token") { try TokenRecord(row: $0) }
            try look("notification") { try SentNotification(row: $0) }
            try look("profile") { try Profile(row: $0) }
            try look("preset") { try PresetTable.preset($0) }
            try look("day") { try DayGoals.goal($0) }
            try look("setting") { try SettingTable.pair($0) }
            try look("bottle_setting") { try SettingTable.pair($0) }
            try look("bottle") { row in try ["lastPoll", "lastCompletePoll"].map { try row.instantIfAny($0) } }
            return found
        }
    }

    /// How many drinks are left out for their time: found by an index, so that every command can say it.
    package func drinksOutOfTime() throws -> Int {
        try read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM drink WHERE \(DrinkTable.isOutOfTime)") ?? 0 }
    }
}
