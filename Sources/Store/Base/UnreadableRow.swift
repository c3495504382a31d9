import GRDB
import TrackerCore

/// A row that says what no row of ours ever says: written by another hand, or damaged. It is left where it is, counts
/// nowhere, and `check --doctor` names it; nothing is computed from it.
public struct UnreadableRow: Error, Hashable, Sendable, CustomStringConvertible {
    /// The table that it stands in.
    public var table: String
    /// The row's number or identifier.
    public var name: String
    /// Which value, and what is wrong with it.
    public var reason: String

    /// Table, row and what is wrong with it.
    public var description: String { "\(table) \(name): \(reason)" }
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

extension Row {
    /// What can be read of a statement's rows, in order, a row at a time: nothing is copied of those that are passed.
    static func readable<Value>(_ statement: Statement, arguments: StatementArguments = StatementArguments(), _ read: (Row) throws -> Value) throws -> [Value] {
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
