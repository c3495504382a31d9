import FleetWire

/// What a fleet of gateways told, in PostgreSQL.
public struct FleetStore {
    let connection: FleetConnection

    /// Over a connection to a database whose schema is up to date.
    public init(_ connection: FleetConnection) { self.connection = connection }

    /// Of the tables that this program knows.
    public static let version = FleetSchema.steps.count

    /// Brings the tables up to date. Who comes second waits for the first.
    /// - Returns: the version before and after.
    public func migrate() throws -> (before: Int, after: Int) {
        try refuseOtherTexts()
        return try connection.transaction {
            try connection.run("SELECT pg_advisory_xact_lock(\(FleetSchema.lock))")
            try connection.script(
                """
                CREATE TABLE IF NOT EXISTS fleet_schema (version integer PRIMARY KEY, applied timestamptz NOT NULL \
                DEFAULT now())
                """
            )
            let before = try version()
            try refuse(newer: before)
            for (index, step) in FleetSchema.steps.enumerated().dropFirst(before) {
                try connection.script(step)
                try connection.run("INSERT INTO fleet_schema (version) VALUES ($1)", ["\(index + 1)"])
            }
            return (before, Self.version)
        }
    }

    /// - Parameter isRunning: newer ones will do: who runs already goes on with them, as long as an upgrade takes.
    /// - Throws: `FleetFailure` of the kind `schema` where the tables are not those of this program, of the kind
    ///   `encoding` where no table could be.
    public func check(isRunning: Bool = false) throws {
        try refuseOtherTexts()
        guard try connection.run("SELECT to_regclass('fleet_schema')").first?.first ?? nil != nil else {
            throw older(0)
        }
        let there = try version()
        if !isRunning { try refuse(newer: there) }
        if there < Self.version { throw older(there) }
    }

    /// A name that the database cannot write would keep a gateway's batch out for good.
    private func refuseOtherTexts() throws {
        let encoding = connection.encoding
        guard encoding != "UTF8" else { return }
        throw FleetFailure(
            .encoding,
            """
            The database at \(connection.place) keeps texts as \(encoding), which cannot hold every name and \
            drink. Nothing was changed: it has to be one of UTF8.
            """
        )
    }

    private func version() throws -> Int {
        Int((try connection.run("SELECT coalesce(max(version), 0) FROM fleet_schema").first?.first ?? nil) ?? "") ?? 0
    }

    private func older(_ there: Int) -> FleetFailure {
        FleetFailure(
            .schema,
            """
            The tables in PostgreSQL at \(connection.place) are of version \(there), and this program needs \
            \(Self.version). Bring them up to date first.
            """
        )
    }

    private func refuse(newer there: Int) throws {
        guard there > Self.version else { return }
        throw FleetFailure(
            .schema,
            """
            The tables in PostgreSQL at \(connection.place) are of version \(there), and this program knows up to \
            \(Self.version). Use a newer program; nothing was changed.
            """
        )
    }

    /// A list of texts as PostgreSQL reads an array.
    static func array(_ texts: [String?]) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(texts.reduce(2) { $0 + ($1?.utf8.count ?? 4) + 3 })
        bytes.append(UInt8(ascii: "{"))
        for (index, text) in texts.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            guard let text else {
                bytes.append(contentsOf: "NULL".utf8)
                continue
            }
            bytes.append(UInt8(ascii: "\""))
            for byte in text.utf8 {
                if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
                bytes.append(byte)
            }
            bytes.append(UInt8(ascii: "\""))
        }
        bytes.append(UInt8(ascii: "}"))
        return String(decoding: bytes, as: UTF8.self)
    }
}
