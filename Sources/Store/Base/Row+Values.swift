import Foundation
import GRDB
import TrackerCore

/// A row with a value that the schema forbids, from a damaged page. Lists leave it out, and `doctor` reports it.
package struct UnreadableRow: Error, Hashable, Sendable, CustomStringConvertible {
    package var name: String
    package var reason: String

    package var description: String { "row \(name): \(reason)" }
}

/// A value of any type. Reading it before the conversion avoids GRDB's generic code, which took most of the time.
struct StoredValue: DatabaseValueConvertible, StatementColumnConvertible {
    let databaseValue: DatabaseValue

    init(_ value: DatabaseValue) { databaseValue = value }
    init(sqliteStatement: SQLiteStatement, index: CInt) {
        self.init(DatabaseValue(sqliteStatement: sqliteStatement, index: index))
    }

    static func fromStatement(_ sqliteStatement: SQLiteStatement, atUncheckedIndex index: CInt) -> StoredValue? {
        StoredValue(sqliteStatement: sqliteStatement, index: index)
    }
    static func fromDatabaseValue(_ value: DatabaseValue) -> StoredValue? { StoredValue(value) }
}

/// Accessors that throw `UnreadableRow` for a value of another type or outside its range.
extension Row {
    func checked<Value: DatabaseValueConvertible>(_ column: String, _ type: Value.Type = Value.self) throws -> Value {
        if let stored = try? decode(StoredValue.self, forColumn: column),
            let value = Value.fromDatabaseValue(stored.databaseValue)
        {
            return value
        }
        // A missing column counts as NULL.
        do { return try decode(type, forColumn: column) } catch { throw invalid(column) }
    }

    /// - Parameter index: the index of the column, which is faster than its name.
    func checked<Value: DatabaseValueConvertible>(_ column: String, at index: Int, _ type: Value.Type = Value.self)
        throws -> Value
    {
        guard let value = Value.fromDatabaseValue(try decode(StoredValue.self, atIndex: index).databaseValue) else {
            throw invalid(column)
        }
        return value
    }

    func checkedIfAny(_ column: String, in range: ClosedRange<Int>) throws -> Int? {
        let value = try checked(column, Int?.self)
        guard value.map(range.contains) ?? true else { throw invalid(column) }
        return value
    }

    /// An amount for calculations, 0 to 10,000.
    func amountIfAny(_ column: String) throws -> Double? {
        let value = try checked(column, Double?.self)
        guard value.map((0...10_000).contains) ?? true else { throw invalid(column) }
        return value
    }

    /// A time in the years 1 to 9999, from milliseconds since 1970.
    func instant(_ column: String, at index: Int? = nil) throws -> Instant {
        let instant = Instant(milliseconds: try index.map { try checked(column, at: $0) } ?? checked(column))
        guard Instant.storable.contains(instant) else { throw invalid(column) }
        return instant
    }

    func instantIfAny(_ column: String) throws -> Instant? {
        (self[column] as DatabaseValue?)?.isNull == false ? try instant(column) : nil
    }

    /// A blob; empty if the column is NULL or has another type.
    func bytes(_ column: String) -> [UInt8] {
        (try? checked(column, Data?.self)).flatMap { $0.map([UInt8].init) } ?? []
    }

    func invalid(_ column: String) -> UnreadableRow { unreadable("\(column) is \(text(column)), which is not valid") }

    func unreadable(_ reason: String) -> UnreadableRow {
        UnreadableRow(
            name: ["id", "seq", "key", "localDay"].first { hasColumn($0) }.map { text($0) } ?? "?", reason: reason)
    }

    private func text(_ column: String) -> String { (self[column] as DatabaseValue?).map { "\($0)" } ?? "absent" }

    /// The rows that can be read, in order.
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
    func readable<Value>(_ read: (Element) throws -> Value) throws -> [Value] {
        try compactMap { element in
            do { return try read(element) } catch is UnreadableRow { return nil }
        }
    }
}

extension DatabaseValue {
    init(bytes: [UInt8]) { self = Data(bytes).databaseValue }
}

extension Database {
    /// Executes one statement with SQLite's statement cache.
    func run(_ sql: String, _ arguments: StatementArguments = []) throws {
        try cachedStatement(sql: sql).execute(arguments: arguments)
    }

    /// - Parameter rows: a query from `FROM` on.
    func has(_ rows: String, _ arguments: StatementArguments = []) throws -> Bool {
        let statement = try cachedStatement(sql: "SELECT EXISTS (SELECT 1 \(rows))")
        return try Bool.fetchOne(statement, arguments: arguments) ?? false
    }
}

extension Statement {
    func run(_ values: (any DatabaseValueConvertible)?...) throws {
        try execute(arguments: StatementArguments(values))
    }

    /// The first column of the first row; `nil` without a row, or for NULL.
    func first<Found: DatabaseValueConvertible & StatementColumnConvertible>(
        _ type: Found.Type, _ values: (any DatabaseValueConvertible)?...
    ) throws -> Found? {
        try Found.fetchOne(self, arguments: StatementArguments(values))
    }
}

enum Counter {
    static func value(_ name: String, _ db: Database) throws -> Int {
        try Int.fetchOne(try db.cachedStatement(sql: "SELECT value FROM counter WHERE name = ?"), arguments: [name])
            ?? 0
    }

    static func set(_ name: String, _ value: Int, _ db: Database) throws {
        try db.run("INSERT OR REPLACE INTO counter (name, value) VALUES (?, ?)", [name, value])
    }

    static func add(_ name: String, _ more: Int, _ db: Database) throws { try set(name, value(name, db) + more, db) }
}

/// Assigns positions (`DrinkPlaces`) to a batch of drinks. The last position is read and written once per batch.
struct GivenPlaces {
    private let db: Database
    /// The last assigned position; `nil` before it is read.
    private var last: Int64?
    /// Whether `last` is not yet written.
    private var isAhead = false

    init(_ db: Database) { self.db = db }

    mutating func next() throws -> Int64 {
        if let last { return last + 1 }
        let stored = try Int64.fetchOne(try db.cachedStatement(sql: "SELECT last FROM drink_sequence")) ?? 0
        last = stored
        return stored + 1
    }

    mutating func take() { (last, isAhead) = (last.map { $0 + 1 }, true) }

    /// Writes the last position: at the end, and before a change to which a trigger assigns a position.
    mutating func settle() throws {
        if isAhead {
            try db.cachedStatement(
                sql: """
                    INSERT INTO drink_sequence (only, last) VALUES (1, ?) ON CONFLICT (only) DO UPDATE SET last =
                    excluded.last
                    """
            ).run(last)
        }
        (last, isAhead) = (nil, false)
    }
}
