import GRDB

extension Database {
    /// Executes a statement that many transactions have: SQLite reads it once for each connection, and not each time.
    func executeOften(sql: String, arguments: StatementArguments) throws {
        try cachedStatement(sql: sql).execute(arguments: arguments)
    }
}
