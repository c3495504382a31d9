import TrackerCore

/// Who has drunk how much today, which bottles there are, and who told of them when.
public struct FleetOverview: Hashable, Sendable, Encodable {
    /// In the order of their names.
    public var people: [Person] = []
    /// In the order of their names.
    public var bottles: [Bottle] = []
    /// Who has said nothing for longest stands first.
    public var gateways: [Gateway] = []
    /// There are more than are shown.
    public var isCut = false

    /// So many of each are shown.
    public static let limit = 10_000

    /// Somebody of whom a gateway told.
    public struct Person: Hashable, Sendable, Encodable {
        /// What a gateway calls the person.
        public var name: String
        /// Theirs, in the zone of their newest drink; UTC's where there is none around now.
        public var day: String
        /// Sum of today's drinks.
        public var todayMl: Int
        /// How many of them there are.
        public var drinks: Int
        /// Their latest drink of these days, ms UTC.
        public var lastDrink: Int64?
        /// Seconds since then.
        public var lastDrinkSecondsAgo: Int64?
    }

    /// A bottle of whose records a gateway told.
    public struct Bottle: Hashable, Sendable, Encodable {
        /// The bottle's identity.
        public var name: String
        /// Whose drinks it brought last.
        public var person: String
        /// The gateway that told of it last.
        public var gateway: String
        /// Seconds since it was told of.
        public var toldSecondsAgo: Int64
    }

    /// A gateway that was enrolled.
    public struct Gateway: Hashable, Sendable, Encodable {
        /// Its name.
        public var name: String
        /// Its credential was taken back.
        public var isRevoked: Bool
        /// `nil`: it never told anything.
        public var seenSecondsAgo: Int64?
        /// The latest moment of a drink that it told, ms UTC.
        public var lastEntry: Int64?
        /// Entries that it told and that were stored.
        public var entries: Int64
        /// Lines of its that never become entries.
        public var poisoned: Int64
        /// Of whom it wanted to tell last, and may not.
        public var wants: String?
    }
}

extension FleetStore {
    /// People by what they drank today, the least first.
    public func overview(now: Instant) throws -> FleetOverview {
        var overview = FleetOverview()
        let utc = LocalDay(daysSince1970: Int(now.milliseconds / 86_400_000))
        // Somewhere it is tomorrow already, and somewhere still yesterday.
        let rows = try connection.run("""
            SELECT person, day, sum(ml), count(*), max(at), (array_agg(zone ORDER BY at DESC))[1] FROM (
                SELECT DISTINCT ON (person, key) * FROM entry
                WHERE (person, key) IN (SELECT person, key FROM entry WHERE day BETWEEN $1::date AND $2::date)
                ORDER BY person, key, deleted DESC, changed DESC, gateway, store
            ) drink WHERE NOT deleted AND ml > 0 AND day BETWEEN $1::date AND $2::date GROUP BY person, day ORDER BY person, day DESC
            """, [utc.adding(days: -1).description, utc.adding(days: 1).description])
        var days: [String: [(day: String, ml: Int, drinks: Int, last: Int64, zone: String)]] = [:]
        for row in rows where row.count == 6 {
            guard let person = row[0], let day = row[1], let last = row[4].flatMap(Int64.init), let zone = row[5] else { continue }
            days[person, default: []].append((day, Int(row[2] ?? "") ?? 0, Int(row[3] ?? "") ?? 0, last, zone))
        }
        var zones: [String: String] = [:]
        func today(_ zone: String) -> String {
            if let known = zones[zone] { return known }
            // As the stores count: after midnight it is still the evening before.
            let day = DayCalendar(zone: (try? Zone(zone)) ?? .utc).day(of: now).description
            zones[zone] = day
            return day
        }
        let names = try connection.run("SELECT name FROM person ORDER BY name LIMIT \(FleetOverview.limit + 1)").compactMap(\.first).compactMap(\.self)
        for name in names.prefix(FleetOverview.limit) {
            let theirs = days[name] ?? []
            let last = theirs.max { $0.last < $1.last }
            let day = today(last?.zone ?? "UTC")
            let found = theirs.first { $0.day == day }
            overview.people.append(.init(name: name, day: day, todayMl: found?.ml ?? 0, drinks: found?.drinks ?? 0, lastDrink: last?.last, lastDrinkSecondsAgo: last.map { max(0, (now.milliseconds - $0.last) / 1000) }))
        }
        overview.people.sort { ($0.todayMl, $0.name) < ($1.todayMl, $1.name) }
        let bottles = try connection.run("""
            SELECT name, person, gateway, greatest(0, extract(epoch FROM now() - told))::bigint FROM bottle ORDER BY name LIMIT \(FleetOverview.limit + 1)
            """)
        overview.bottles = bottles.prefix(FleetOverview.limit).compactMap { row in
            guard let name = row[0], let person = row[1], let gateway = row[2] else { return nil }
            return .init(name: name, person: person, gateway: gateway, toldSecondsAgo: row[3].flatMap(Int64.init) ?? 0)
        }
        let gateways = try connection.run("""
            SELECT name, revoked IS NOT NULL, CASE WHEN last_seen IS NOT NULL THEN greatest(0, extract(epoch FROM now() - last_seen))::bigint END, last_entry, entries, poisoned, wants
            FROM gateway WHERE role = 'gateway' ORDER BY last_seen NULLS FIRST, name LIMIT \(FleetOverview.limit + 1)
            """)
        overview.gateways = gateways.prefix(FleetOverview.limit).compactMap { row in
            row[0].map {
                .init(
                    name: $0, isRevoked: row[1] == "t", seenSecondsAgo: row[2].flatMap(Int64.init), lastEntry: row[3].flatMap(Int64.init),
                    entries: row[4].flatMap(Int64.init) ?? 0, poisoned: row[5].flatMap(Int64.init) ?? 0, wants: row[6])
            }
        }
        overview.isCut = [names.count, bottles.count, gateways.count].contains { $0 > FleetOverview.limit }
        return overview
    }

    /// A person's days with drinks, oldest first; `nil` where nobody goes by that name.
    public func days(of person: String) throws -> [(day: LocalDay, ml: Int, drinks: Int)]? {
        guard try !connection.run("SELECT 1 FROM person WHERE name = $1", [person]).isEmpty else { return nil }
        return try connection.run("SELECT day, ml, drinks FROM day_total WHERE person = $1 ORDER BY day", [person]).compactMap { row in
            row[0].flatMap(LocalDay.init).map { ($0, Int(row[1] ?? "") ?? 0, Int(row[2] ?? "") ?? 0) }
        }
    }
}
