/// What a fleet's monitoring wants to know of all servers together.
public struct FleetFigures: Sendable {
    /// Of whom anybody told.
    public var people: Int
    /// Records that count nowhere.
    public var doubts: Int
    /// Days that are still to be added up anew, each as often as it changed.
    public var staleDays: Int
    /// Seconds since each gateway was seen; `nil`: never. At most 10,000.
    public var gateways: [(name: String, seenSecondsAgo: Int64?, entries: Int64, poisoned: Int64)]
}

extension FleetStore {
    /// All of it, as it is now.
    public func figures() throws -> FleetFigures {
        func number(_ sql: String) throws -> Int { Int((try connection.run(sql).first?.first ?? nil) ?? "") ?? 0 }
        let gateways = try connection.run(
            """
            SELECT name, CASE WHEN last_seen IS NOT NULL THEN greatest(0, extract(epoch FROM now() - \
            last_seen))::bigint END, entries, poisoned
            FROM gateway WHERE role = 'gateway' AND revoked IS NULL ORDER BY name LIMIT \(FleetOverview.limit)
            """)
        return FleetFigures(
            people: try number("SELECT count(*) FROM person"), doubts: try number("SELECT count(*) FROM doubt"),
            staleDays: try number("SELECT count(*) FROM stale"),
            gateways: gateways.compactMap { row in
                row[0].map {
                    ($0, row[1].flatMap(Int64.init), row[2].flatMap(Int64.init) ?? 0, row[3].flatMap(Int64.init) ?? 0)
                }
            })
    }
}
