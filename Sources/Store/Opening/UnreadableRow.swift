import GRDB
import TrackerCore

/// A row that says what no row of ours ever says: written by another hand, or damaged. It is left where it is, counts
/// nowhere, and `check --doctor` names it; nothing is computed from it.
public struct UnreadableRow: Error, Hashable, Sendable, CustomStringConvertible {
    public var table: String
    /// The row's number or identifier.
    public var name: String
    /// Which value, and what is wrong with it.
    public var reason: String

    public var description: String { "\(table) \(name): \(reason)" }
}

extension Instant {
    /// What a store may hold: the years 1 to 9999, so that every instant can be written as text and reckoned with.
    static let storable = Instant(milliseconds: -62_135_596_800_000)...Instant(milliseconds: 253_402_300_799_999)
}

extension Row {
    /// A column's value, where it is of that type.
    func checked<Value: DatabaseValueConvertible>(_ column: String, _ type: Value.Type = Value.self) throws -> Value {
        do {
            return try decode(type, forColumn: column)
        } catch {
            throw unreadable("\(column) is \(said(column)), which is of another kind")
        }
    }

    /// A number in a range.
    func checked(_ column: String, in range: ClosedRange<Int>) throws -> Int {
        let value: Int = try checked(column)
        guard range.contains(value) else { throw unreadable("\(column) is \(value), outside of \(range.lowerBound) to \(range.upperBound)") }
        return value
    }

    /// The same where the column may be empty.
    func checkedIfAny(_ column: String, in range: ClosedRange<Int>) throws -> Int? {
        try checked(column, Int?.self) == nil ? nil : try checked(column, in: range)
    }

    /// A number that can be reckoned with: a drink's ounces, strength or estimate; nothing where the column is empty.
    func amountIfAny(_ column: String) throws -> Double? {
        guard let value = try checked(column, Double?.self) else { return nil }
        guard (0...10_000).contains(value) else { throw unreadable("\(column) is \(value), which is no amount") }
        return value
    }

    /// Milliseconds of a year that people live in.
    func instant(_ column: String) throws -> Instant {
        let instant = Instant(milliseconds: try checked(column))
        guard Instant.storable.contains(instant) else {
            throw unreadable("\(column) is \(instant.milliseconds) ms since 1970, outside of the years 1 to 9999")
        }
        return instant
    }

    /// The same where the column may be empty.
    func instantIfAny(_ column: String) throws -> Instant? {
        (self[column] as DatabaseValue?)?.isNull == false ? try instant(column) : nil
    }

    func unreadable(_ reason: String) -> UnreadableRow {
        let name = ["id", "seq", "key", "localDay"].first { hasColumn($0) }.map { said($0) } ?? "?"
        return UnreadableRow(table: "row", name: name, reason: reason)
    }

    private func said(_ column: String) -> String { (self[column] as DatabaseValue?).map { "\($0)" } ?? "absent" }
}

extension Sequence {
    /// What can be read, in order. `TrackerStore.unreadableRows` tells of the rest.
    func readable<Value>(_ read: (Element) throws -> Value) throws -> [Value] {
        try compactMap { element in
            do { return try read(element) } catch is UnreadableRow { return nil }
        }
    }
}

extension TrackerStore {
    /// Every row that is left out because it cannot be read: for the doctor, who has time to read all.
    public func unreadableRows() throws -> [UnreadableRow] {
        try read { db in
            var found: [UnreadableRow] = []
            func look(_ table: String, _ read: (Row) throws -> Any) throws {
                let rows = try Row.fetchCursor(db, sql: "SELECT * FROM \(table)")
                while let row = try rows.next() {
                    do {
                        _ = try read(row)
                    } catch var trouble as UnreadableRow {
                        trouble.table = table
                        found.append(trouble)
                    }
                }
            }
            try look("drink") { try StoredDrink(row: $0) }
            try look("session") { try SessionTable.session($0) }
            try look("log_entry") { try SessionTable.log($0) }
            try look("token") { try TokenRecord(row: $0) }
            try look("notification") { try SentNotification(row: $0) }
            try look("profile") { try Profile(row: $0) }
            try look("preset") { try PresetTable.preset($0) }
            try look("day") { try DayGoals.goal($0) }
            try look("bottle") { row in try ["lastPoll", "lastCompletePoll"].map { try row.instantIfAny($0) } }
            return found
        }
    }

    /// How many drinks are left out for their time: found by an index, so that every command can say it.
    public func drinksOutOfTime() throws -> Int {
        try read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM drink WHERE \(DrinkTable.isOutOfTime)") ?? 0 }
    }
}
