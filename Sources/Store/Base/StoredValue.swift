import GRDB

/// A column's value of whatever kind, as it stands in the row.
///
/// GRDB converts a value in functions that are compiled once for all types; asking for the type each time was most of
/// what reading a row cost. What is read as this is read by code that the compiler makes for it, and converted where
/// its type is known.
struct StoredValue: DatabaseValueConvertible, StatementColumnConvertible {
    let databaseValue: DatabaseValue

    init(_ value: DatabaseValue) { databaseValue = value }
    init(sqliteStatement: SQLiteStatement, index: CInt) {
        self.init(DatabaseValue(sqliteStatement: sqliteStatement, index: index))
    }

    /// NULL is a value, too.
    static func fromStatement(_ sqliteStatement: SQLiteStatement, atUncheckedIndex index: CInt) -> StoredValue? {
        StoredValue(sqliteStatement: sqliteStatement, index: index)
    }

    static func fromDatabaseValue(_ value: DatabaseValue) -> StoredValue? { StoredValue(value) }
}
