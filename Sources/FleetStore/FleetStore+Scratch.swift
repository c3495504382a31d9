/// Databases that a rehearsal makes beside this one: `fleet_rehearsal_` and eight hexadecimal digits.
extension FleetStore {
    /// Makes an empty one. As long as this connection lives, nobody takes it for one that was left behind.
    /// - Parameter mark: eight hexadecimal digits, nobody else's.
    /// - Returns: its name.
    public func makeScratchDatabase(_ mark: String) throws -> String {
        let name = Self.scratch + mark.filter { $0.isASCII && $0.isHexDigit }
        try connection.run("SELECT pg_advisory_lock(\(Self.scratchLock), ('x' || $1)::bit(32)::int)", [mark])
        try connection.script("CREATE DATABASE \"\(name)\" TEMPLATE template0")
        return name
    }

    /// Drops one; whoever is still in it goes.
    public func dropScratchDatabase(_ name: String) throws {
        try connection.script(
            """
            DROP DATABASE IF EXISTS \"\(name.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") })\" \
            WITH (FORCE)
            """
        )
    }

    /// What became of those that were there.
    public struct Sweeping: Hashable, Sendable {
        /// Left behind by who was killed, and gone now.
        public var dropped: [String] = []
        /// Left behind, and still there: somebody is in it, or this user may not drop it.
        public var left: [String] = []
        /// Of a rehearsal of this database that is under way.
        public var underWay: [String] = []
    }

    /// Drops those that were left behind.
    public func sweepScratchDatabases() throws -> Sweeping {
        var sweeping = Sweeping()
        for database in try scratchDatabases() {
            if database.isHeld {
                if database.isOfThis { sweeping.underWay.append(database.name) }
                continue
            }
            // Without force: PostgreSQL refuses where somebody is in it.
            do {
                try connection.script("DROP DATABASE IF EXISTS \"\(database.name)\"")
                sweeping.dropped.append(database.name)
            } catch {
                guard !connection.isBroken else { throw error }
                sweeping.left.append(database.name)
            }
        }
        return sweeping
    }

    /// Those that there are: whether who made one still lives, and whether that is a rehearsal of this database.
    func scratchDatabases() throws -> [(name: String, isHeld: Bool, isOfThis: Bool)] {
        try connection.run(
            """
            SELECT datname, holder.pid IS NOT NULL, coalesce(holder.database = (SELECT oid FROM pg_database WHERE \
            datname = current_database()), false) FROM pg_database
            LEFT JOIN pg_locks AS holder ON holder.locktype = 'advisory' AND holder.granted AND holder.classid::bigint \
            = \(Self.scratchLock) AND holder.objsubid = 2
                AND holder.objid::bigint = ('x' || lpad(right(datname, 8), 16, '0'))::bit(64)::bigint
            WHERE datname ~ '^\(Self.scratch)[0-9a-f]{8}$' ORDER BY datname
            """
        ).compactMap { row in row[0].map { ($0, row[1] == "t", row[2] == "t") } }
    }

    private static let scratch = "fleet_rehearsal_"
    private static let scratchLock = FleetSchema.lock + 3
}
