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
    /// What was told last is not added up yet: there is too much of it to wait for, somebody is at it, or the database may only be read.
    public var isBehind = false

    /// So many of each are shown.
    public static let limit = 10_000

    /// Somebody of whom a gateway told.
    public struct Person: Hashable, Sendable, Encodable {
        /// What a gateway calls the person.
        public var name: String
        /// Theirs, in the zone of their newest drink, from the hour on that they chose; UTC's where there is none around now.
        public var day: String
        /// Sum of today's drinks.
        public var todayMl: Int
        /// How many of them there are.
        public var drinks: Int
        /// Their latest drink of these days, ms UTC.
        public var lastDrink: Int64?
        /// Seconds since then.
        public var lastDrinkSecondsAgo: Int64?
        /// Records that lie in doubt at a gateway, and count nowhere.
        public var doubts: Int
    }

    /// A bottle of whose records a gateway told.
    public struct Bottle: Hashable, Sendable, Encodable {
        /// The bottle's identity.
        public var name: String
        /// Whose drinks it brought last.
        public var person: String
        /// The gateway that told of it last; `nil` for a carer.
        public var gateway: String?
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
    /// - Parameters:
    ///   - visitor: who looks; a carer sees whom it cares for, and of gateways none. `nil`: everything.
    ///   - limit: so long it waits at most for what is still to be added up, and some of that again for the database to let go of it.
    public func overview(now: Instant, for visitor: FleetVisitor? = nil, within limit: Duration = lookLimit) throws -> FleetOverview {
        var overview = FleetOverview()
        overview.isBehind = try !refreshUnlessReadOnly(within: limit)
        let utc = LocalDay(daysSince1970: Int(now.milliseconds / 86_400_000))
        // Somewhere it is tomorrow already, and somewhere still yesterday.
        let around = [utc.adding(days: -1).description, utc.adding(days: 1).description]
        let others = try connection.run("SELECT DISTINCT zone FROM day_roll WHERE day BETWEEN $1::date AND $2::date AND zone <> 'UTC' ORDER BY zone LIMIT \(Self.mostZones - 1)", around)
        let zones = ["UTC"] + others.compactMap { $0.first ?? nil }
        // As the stores count: after midnight it is still the evening before, until the hour that each person chose.
        let days = zones.flatMap { zone in Self.boundaries.map { DayCalendar(zone: (try? Zone(zone)) ?? .utc, boundaryHour: $0).day(of: now).description } }
        let mine = visitor?.role == .carer ? visitor?.people : nil
        let doubts = try connection.run("SELECT person, count(DISTINCT (bottle, raw)) FROM doubt WHERE $1::text[] IS NULL OR person = ANY ($1::text[]) GROUP BY person", [mine.map(Self.array)])
        let doubtful = Dictionary(doubts.compactMap { row in row[0].map { (ExactText($0), row[1].flatMap(Int.init) ?? 0) } }) { $1 }
        let people = try connection.run(Self.peopleOfToday, around + [Self.array(zones), Self.array(days), mine.map(Self.array)]) { row -> FleetOverview.Person? in
            guard let name = row.text(0), let day = row.text(1) else { return nil }
            let last = row.number(4)
            return .init(
                name: name, day: day, todayMl: Int(row.number(2) ?? 0), drinks: Int(row.number(3) ?? 0), lastDrink: last, lastDrinkSecondsAgo: last.map { max(0, (now.milliseconds - $0) / 1000) },
                doubts: doubtful.isEmpty ? 0 : doubtful[ExactText(name)] ?? 0)
        }
        overview.people = Array(people.prefix(FleetOverview.limit))
        let bottles = try connection.run("""
            SELECT name, person, gateway, greatest(0, extract(epoch FROM now() - told))::bigint FROM bottle WHERE $1::text[] IS NULL OR person = ANY ($1::text[])
            ORDER BY name LIMIT \(FleetOverview.limit + 1)
            """, [mine.map(Self.array)])
        overview.bottles = bottles.prefix(FleetOverview.limit).compactMap { row in
            guard let name = row[0], let person = row[1], let gateway = row[2] else { return nil }
            return .init(name: name, person: person, gateway: visitor?.role == .carer ? nil : gateway, toldSecondsAgo: row[3].flatMap(Int64.init) ?? 0)
        }
        let gateways = visitor?.role == .carer ? [] : try connection.run("""
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
        overview.isCut = [people.count, bottles.count, gateways.count].contains { $0 > FleetOverview.limit }
        return overview
    }

    /// As long as nobody chooses another, a day begins at this hour.
    private static let usualBoundary = 4
    private static let boundaries = 0...6
    /// There are some 600 zones; a person's newest drink and its zone's number are found as one number.
    private static let zoneBits = 10
    private static let mostZones = 1 << zoneBits

    /// $1, $2: the days around now; $3: zones, UTC first; $4: today in each of them, for each hour at which it may have begun; $5: whom to show.
    ///
    /// Each day around now is a column of its own: looking for a person's day among the rows once more took as long as all the rest.
    private static let peopleOfToday = """
        WITH recent AS (
            SELECT r.person, max((r.last << \(zoneBits)) + z.number - 1) AS mark, \(around.map {
                "max(r.ml) FILTER (WHERE r.day = $1::date + \($0)) AS ml\($0), max(r.drinks) FILTER (WHERE r.day = $1::date + \($0)) AS drinks\($0)"
            }.joined(separator: ", "))
            FROM day_roll r JOIN unnest($3::text[]) WITH ORDINALITY AS z (zone, number) ON z.zone = r.zone WHERE r.day BETWEEN $1::date AND $2::date GROUP BY r.person
        ), dated AS (
            SELECT p.name, recent.*, ($4::date[])[coalesce(recent.mark & \(mostZones - 1), 0) * \(boundaries.count) + coalesce(p.boundary, \(usualBoundary)) + 1] AS today
            FROM person p LEFT JOIN recent ON recent.person = p.name
            WHERE $5::text[] IS NULL OR p.name = ANY ($5::text[])
        )
        SELECT name, today, coalesce(\(ofToday("ml")), 0) AS sum, coalesce(\(ofToday("drinks")), 0), mark >> \(zoneBits)
        FROM dated ORDER BY sum, name LIMIT \(FleetOverview.limit + 1)
        """

    /// The days around now, from the first on.
    private static let around = 0...2

    /// Of a person's row what belongs to their today.
    private static func ofToday(_ column: String) -> String { "CASE today - $1::date \(around.map { "WHEN \($0) THEN \(column)\($0)" }.joined(separator: " ")) END" }

    /// - Returns: `false` where not all of it is added up, also where the database may only be read: then what is there is shown as it was added up last.
    private func refreshUnlessReadOnly(within limit: Duration, of person: String? = nil) throws -> Bool {
        do { return try refresh(within: limit, of: person).isAll } catch let failure as FleetFailure where failure.kind == .readOnly { return false }
    }

    /// A person's days with drinks, oldest first; `nil` where nobody goes by that name. Where something is in the way of adding them up they are those of before (`isBehind`).
    public func days(of person: String) throws -> [(day: LocalDay, ml: Int, drinks: Int)]? {
        guard try !connection.run("SELECT 1 FROM person WHERE name = $1", [person]).isEmpty else { return nil }
        _ = try refreshUnlessReadOnly(within: Self.lookLimit, of: person)
        return try connection.run("SELECT day, ml, drinks FROM day_roll WHERE person = $1 ORDER BY day", [person]).compactMap { row in
            row[0].flatMap(LocalDay.init).map { ($0, Int(row[1] ?? "") ?? 0, Int(row[2] ?? "") ?? 0) }
        }
    }

    /// A drink that counts.
    public struct CountedDrink: Hashable, Sendable {
        /// When it was drunk.
        public var at: Instant
        /// The IANA id of the zone whose day it counts on.
        public var zone: String
        /// That day.
        public var day: LocalDay
        /// How much it was.
        public var ml: Int
        /// `nil` where no bottle told it.
        public var bottle: String?
    }

    /// A person's drinks that count, newest first, so many at most.
    public func drinks(of person: String, limit: Int) throws -> [CountedDrink] {
        try connection.run("""
            SELECT at, zone, day, ml, bottle FROM drink WHERE person = $1 AND NOT deleted AND ml > 0 ORDER BY at DESC, key LIMIT $2::bigint
            """, [person, "\(limit)"]).compactMap { row in
            guard let at = row[0].flatMap(Int64.init), let zone = row[1], let day = row[2].flatMap(LocalDay.init), let ml = row[3].flatMap(Int.init) else { return nil }
            return CountedDrink(at: Instant(milliseconds: at), zone: zone, day: day, ml: ml, bottle: row[4])
        }
    }
}
