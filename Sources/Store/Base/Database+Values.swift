import Foundation
package import GRDB
package import TrackerCore

/// An instant is stored as milliseconds since 1970-01-01 UTC. Years outside 1–9999 are invalid.
extension Instant: DatabaseValueConvertible, StatementColumnConvertible {
    package var databaseValue: DatabaseValue { milliseconds.databaseValue }

    package init?(sqliteStatement: SQLiteStatement, index: CInt) {
        self.init(milliseconds: Int64(sqliteStatement: sqliteStatement, index: index))
        guard Self.storable.contains(self) else { return nil }
    }

    package static func fromDatabaseValue(_ value: DatabaseValue) -> Instant? {
        Int64.fromDatabaseValue(value).map(Instant.init(milliseconds:)).flatMap { storable.contains($0) ? $0 : nil }
    }
}

/// A day is stored as `yyyy-MM-dd`.
extension LocalDay: DatabaseValueConvertible {
    package var databaseValue: DatabaseValue { description.databaseValue }

    package static func fromDatabaseValue(_ value: DatabaseValue) -> LocalDay? {
        String.fromDatabaseValue(value).flatMap { LocalDay($0) }
    }
}

extension Statement {
    /// Executes with values for the parameters in their order. `execute(arguments:)` copies them to an array first.
    func run<each Value: StatementBinding>(_ values: repeat each Value) throws {
        try bind(repeat each values)
        try execute()
    }

    /// Returns the first value of a query; `nil` without a row, and for NULL.
    func first<Found: DatabaseValueConvertible & StatementColumnConvertible, each Value: StatementBinding>(
        _ values: repeat each Value
    ) throws -> Found? {
        try bind(repeat each values)
        return try Found.fetchOne(self)
    }

    private func bind<each Value: StatementBinding>(_ values: repeat each Value) throws {
        setUncheckedArguments(StatementArguments())  // resets the statement
        var index: CInt = 0
        for value in repeat each values {
            index += 1
            let code = value.bind(to: sqliteStatement, at: index)
            guard code == 0 else { throw DatabaseError(resultCode: ResultCode(rawValue: code), sql: sql) }
        }
    }
}

extension Row {
    func bytes(_ column: String) throws -> [UInt8] { [UInt8](try decode(Data.self, forColumn: column)) }
}

extension Decodable {
    /// Decodes a JSON column; `nil` for NULL, and for the JSON of another version.
    init?(json: String?) {
        guard let json, let value = try? JSONDecoder().decode(Self.self, from: Data(json.utf8)) else { return nil }
        self = value
    }
}

extension Encodable {
    var json: String { get throws { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) } }
}

extension TrackerStore {
    /// Returns all records of a query in a transaction of its own.
    func all<Record: FetchableRecord>(_ sql: String, _ arguments: StatementArguments = []) throws -> [Record] {
        try read { try $0.all(sql, arguments) }
    }

    /// Returns the values of the first column of a query in a transaction of its own.
    func all<Value: DatabaseValueConvertible>(_ sql: String, _ arguments: StatementArguments = []) throws -> [Value] {
        try read { try $0.all(sql, arguments) }
    }

    /// Returns the first record of a query in a transaction of its own; `nil` without a row.
    func first<Record: FetchableRecord>(_ sql: String, _ arguments: StatementArguments = []) throws -> Record? {
        try read { try $0.first(sql, arguments) }
    }

    /// Returns the first value of a query in a transaction of its own; `nil` without a row, and for NULL.
    func first<Value: DatabaseValueConvertible>(_ sql: String, _ arguments: StatementArguments = []) throws -> Value? {
        try read { try $0.first(sql, arguments) }
    }
}

extension Database {
    /// Executes one statement with SQLite's statement cache.
    func run(_ sql: String, _ arguments: StatementArguments = []) throws {
        try cachedStatement(sql: sql).execute(arguments: arguments)
    }

    /// Returns all records of a query.
    func all<Record: FetchableRecord>(_ sql: String, _ arguments: StatementArguments = []) throws -> [Record] {
        try Record.fetchAll(cachedStatement(sql: sql), arguments: arguments)
    }

    /// Returns the values of the first column of a query.
    func all<Value: DatabaseValueConvertible>(_ sql: String, _ arguments: StatementArguments = []) throws -> [Value] {
        try Value.fetchAll(cachedStatement(sql: sql), arguments: arguments)
    }

    /// Returns the first record of a query; `nil` without a row.
    func first<Record: FetchableRecord>(_ sql: String, _ arguments: StatementArguments = []) throws -> Record? {
        try Record.fetchOne(cachedStatement(sql: sql), arguments: arguments)
    }

    /// Returns the first value of a query; `nil` without a row, and for NULL.
    func first<Value: DatabaseValueConvertible>(_ sql: String, _ arguments: StatementArguments = []) throws -> Value? {
        try Value.fetchOne(cachedStatement(sql: sql), arguments: arguments)
    }

    /// Returns the values of the first two columns of a query.
    func pairs<First: DatabaseValueConvertible, Second: DatabaseValueConvertible>(
        _ sql: String, _ arguments: StatementArguments = []
    ) throws -> [(First, Second)] {
        try Row.fetchAll(cachedStatement(sql: sql), arguments: arguments).map {
            (try $0.decode(atIndex: 0), try $0.decode(atIndex: 1))
        }
    }

    /// Whether a query returns a row. `rows` is the query without its `SELECT` clause.
    func has(_ rows: String, _ arguments: StatementArguments = []) throws -> Bool {
        try first("SELECT EXISTS (SELECT 1 \(rows))", arguments) ?? false
    }
}

/// Access to the table `counter`, which stores integers by name.
enum Counter {
    static func value(_ name: String, _ db: Database) throws -> Int {
        try db.first("SELECT value FROM counter WHERE name = ?", [name]) ?? 0
    }

    static func set(_ name: String, _ value: Int, _ db: Database) throws {
        try db.run("INSERT OR REPLACE INTO counter (name, value) VALUES (?, ?)", [name, value])
    }

    static func add(_ name: String, _ more: Int, _ db: Database) throws { try set(name, value(name, db) + more, db) }
}
