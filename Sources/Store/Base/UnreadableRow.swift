import GRDB
import TrackerCore

/// A row that says what no row of ours ever says: written by another hand, or damaged. It is left where it is, counts
/// nowhere, and `check --doctor` names it; nothing is computed from it.
package struct UnreadableRow: Error, Hashable, Sendable, CustomStringConvertible {
    /// The table that it stands in.
    package var table: String
    /// The row's number or identifier.
    package var name: String
    /// Which value, and what is wrong with it.
    package var reason: String

    /// Table, row and what is wrong with it.
    package var description: String { "\(table) \(name): \(reason)" }
}

extension Row {
    /// A column's value, where it is of that type.
    func checked<Value: DatabaseValueConvertible>(_ column: String, _ type: Value.Type = Value.self) throws -> Value {
        if let stored = try? decode(StoredValue.self, forColumn: column),
            let value = Value.fromDatabaseValue(stored.databaseValue)
        {
            return value
        }
        // A column that is not there is nothing, where nothing is allowed.
        do { return try decode(type, forColumn: column) } catch { throw isOfAnotherKind(column) }
    }

    /// The same by the column's place, which spares the look for its name: where rows are read by the thousand.
    /// - Parameter place: from 0; the row has so many columns.
    func checked<Value: DatabaseValueConvertible>(_ column: String, at place: Int, _ type: Value.Type = Value.self)
        throws -> Value
    {
        guard let value = Value.fromDatabaseValue(try decode(StoredValue.self, atIndex: place).databaseValue) else {
            throw isOfAnotherKind(column)
        }
        return value
    }

    /// A number in a range.
    func checked(_ column: String, in range: ClosedRange<Int>) throws -> Int {
        try within(range, try checked(column), column)
    }

    /// The same by the column's place.
    func checked(_ column: String, at place: Int, in range: ClosedRange<Int>) throws -> Int {
        try within(range, try checked(column, at: place), column)
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
        try storable(Instant(milliseconds: try checked(column)), column)
    }

    /// The same by the column's place.
    func instant(_ column: String, at place: Int) throws -> Instant {
        try storable(Instant(milliseconds: try checked(column, at: place)), column)
    }

    /// The same where the column may be empty.
    func instantIfAny(_ column: String) throws -> Instant? {
        (self[column] as DatabaseValue?)?.isNull == false ? try instant(column) : nil
    }

    private func within(_ range: ClosedRange<Int>, _ value: Int, _ column: String) throws -> Int {
        guard range.contains(value) else {
            throw unreadable("\(column) is \(value), outside of \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    private func storable(_ instant: Instant, _ column: String) throws -> Instant {
        guard Instant.storable.contains(instant) else {
            throw unreadable("\(column) is \(instant.milliseconds) ms since 1970, outside of the years 1 to 9999")
        }
        return instant
    }

    private func isOfAnotherKind(_ column: String) -> UnreadableRow {
        unreadable("\(column) is \(said(column)), which is of another kind")
    }

    func unreadable(_ reason: String) -> UnreadableRow {
        let name = ["id", "seq", "key", "localDay"].first { hasColumn($0) }.map { said($0) } ?? "?"
        return UnreadableRow(table: "row", name: name, reason: reason)
    }

    private func said(_ column: String) -> String { (self[column] as DatabaseValue?).map { "\($0)" } ?? "absent" }
}

extension Row {
    /// What can be read of a statement's rows, in order, a row at a time: nothing is copied of those that are passed.
    static func readable<Value>(
        _ statement: Statement, arguments: StatementArguments = StatementArguments(), _ read: (Row) throws -> Value
    ) throws -> [Value] {
        var (found, rows) = ([Value](), try Row.fetchCursor(statement, arguments: arguments))
        while let row = try rows.next() {
            do { found.append(try read(row)) } catch is UnreadableRow {}
        }
        return found
    }
}

extension Sequence {
    /// What can be read, in order. `TrackerStore.unreadableRows` tells of the rest.
    func readable<Value>(_ read: (Element) throws -> Value) throws -> [Value] {
        try compactMap { element in
            do { return try read(element) } catch is UnreadableRow { return nil }
        }
    }
}
