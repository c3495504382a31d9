import GRDB

extension Statement {
    /// Runs the statement with these values, in the order of its parameters: as many as it has.
    ///
    /// The same as `execute(arguments:)`, without the lists that the values are put into, copied to and checked in
    /// there, which cost as much as SQLite's own work for a short row: for what is done for each record of a batch.
    func run<each Value: StatementBinding>(_ values: repeat each Value) throws {
        try bind(repeat each values)
        try execute()
    }

    /// What the first column of the first row holds; `nil` where there is no row, or nothing in it.
    func first<Found: DatabaseValueConvertible & StatementColumnConvertible, each Value: StatementBinding>(
        _ type: Found.Type, _ values: repeat each Value
    ) throws -> Found? {
        try bind(repeat each values)
        return try Found.fetchOne(self)
    }

    private func bind<each Value: StatementBinding>(_ values: repeat each Value) throws {
        // Makes the statement ready for values, and tells GRDB that it has them.
        setUncheckedArguments(StatementArguments())
        var place: CInt = 0
        for value in repeat each values {
            place += 1
            let code = value.bind(to: sqliteStatement, at: place)
            // Too long, or no memory is left.
            guard code == 0 else {
                throw DatabaseError(
                    resultCode: ResultCode(rawValue: code), message: "value \(place) cannot be taken", sql: sql)
            }
        }
    }
}
