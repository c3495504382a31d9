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
    /// What was told last is not added up yet: there is too much of it to wait for, somebody is at it, or the database
    /// may only be read.
    public var isBehind = false

    /// So many of each are shown.
    public static let limit = 10_000

    /// Somebody of whom a gateway told.
    public struct Person: Hashable, Sendable, Encodable {
        /// What a gateway calls the person.
        public var name: String
        /// Theirs, in the zone of their newest drink, from the hour on that they chose; UTC's where there is none
        /// around now.
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
    ///   - limit: so long it waits at most for what is still to be added up, and some of that again for the database to
    ///     let go of it.
    public func overview(now: Instant, for visitor: FleetVisitor? = nil, within limit: Duration = lookLimit) throws
        -> FleetOverview
    {
        var overview = FleetOverview()
        overview.isBehind = try !refreshUnlessReadOnly(within: limit)
        let utc = LocalDay(daysSince1970: Int(now.milliseconds / 86_400_000))
        // Somewhere it is tomorrow already, and somewhere still yesterday.
        let first = utc.adding(days: -1), around = [first.description, utc.adding(days: 1).description]
        // Each of them is written once, and not ten thousand times.
        let names = Self.around.map { first.adding(days: $0).description }
        let mine = visitor?.role == .carer ? visitor?.people : nil
        let doubts = try connection.run(
            """
            SELECT person, count(DISTINCT (bottle, raw)) FROM doubt WHERE $1::text[] IS NULL OR person = ANY \
            ($1::text[]) GROUP BY person
            """,
            [mine.map(Self.array)])
        let doubtful = Dictionary(
            doubts.compactMap { row in row[0].map { (ExactText($0), row[1].flatMap(Int.init) ?? 0) } }
        ) { $1 }
        func look(_ zones: [String]) throws -> (people: [FleetOverview.Person], isWhole: Bool) {
            // As the stores count: after midnight it is still the evening before, until the hour that each person
            // chose.
            let days = zones.flatMap { zone in
                Self.boundaries.map {
                    DayCalendar(zone: (try? Zone(zone)) ?? .utc, boundaryHour: $0).day(of: now).description
                }
            }
            var isWhole = true
            let people = try connection.run(
                Self.peopleOfToday, around + [Self.array(zones), Self.array(days), mine.map(Self.array)]
            ) { row -> FleetOverview.Person? in
                guard let name = row.text(0) else { return nil }
                let today = row.number(1).map { Int($0) }, last = row.number(4)
                if today == nil { isWhole = false }
                let index = today.flatMap { names.indices.contains($0) ? $0 : nil } ?? 1
                return .init(
                    name: name, day: names[index], todayMl: Int(row.number(2) ?? 0), drinks: Int(row.number(3) ?? 0),
                    lastDrink: last,
                    lastDrinkSecondsAgo: last.map { max(0, (now.milliseconds - $0) / 1000) },
                    doubts: doubtful.isEmpty ? 0 : doubtful[ExactText(name)] ?? 0)
            }
            return (people, isWhole)
        }
        // Which zones there are is looked for only where somebody is in another one than were known.
        var (people, isWhole) = try look(connection.zones)
        if !isWhole {
            let others = try connection.run(
                """
                SELECT DISTINCT zone FROM day_roll WHERE day BETWEEN $1::date AND $2::date AND zone <> 'UTC' ORDER \
                BY zone LIMIT \(Self.mostZones - 2)
                """,
                around)
            connection.zones = ["UTC"] + others.compactMap { $0.first ?? nil }
            people = try look(connection.zones).people
        }
        overview.people = Array(people.prefix(FleetOverview.limit))
        let bottles = try connection.run(
            """
            SELECT name, person, gateway, greatest(0, extract(epoch FROM now() - told))::bigint FROM bottle WHERE \
            $1::text[] IS NULL OR person = ANY ($1::text[])
            ORDER BY name LIMIT \(FleetOverview.limit + 1)
            """, [mine.map(Self.array)])
        overview.bottles = bottles.prefix(FleetOverview.limit).compactMap { row in
            guard let name = row[0], let person = row[1], let gateway = row[2] else { return nil }
            return .init(
                name: name, person: person, gateway: visitor?.role == .carer ? nil : gateway,
                toldSecondsAgo: row[3].flatMap(Int64.init) ?? 0)
        }
        let gateways =
            visitor?.role == .carer
            ? []
            : try connection.run(
                """
                SELECT name, revoked IS NOT NULL, CASE WHEN last_seen IS NOT NULL THEN greatest(0, extract(epoch FROM \
                now() - last_seen))::bigint END, last_entry, entries, poisoned, wants
                FROM gateway WHERE role = 'gateway' ORDER BY last_seen NULLS FIRST, name LIMIT \
                \(FleetOverview.limit + 1)
                """)
        overview.gateways = gateways.prefix(FleetOverview.limit).compactMap { row in
            row[0].map {
                .init(
                    name: $0, isRevoked: row[1] == "t", seenSecondsAgo: row[2].flatMap(Int64.init),
                    lastEntry: row[3].flatMap(Int64.init),
                    entries: row[4].flatMap(Int64.init) ?? 0, poisoned: row[5].flatMap(Int64.init) ?? 0, wants: row[6])
            }
        }
        overview.isCut = [people.count, bottles.count, gateways.count].contains { $0 > FleetOverview.limit }
        return overview
    }

    /// As long as nobody chooses another, a day begins at this hour.
    private static let usualBoundary = 4
    private static let boundaries = 0...6
    /// There are some 600 zones; a person's newest drink and its zone's number are found as one number, of which the
    /// last says that the zone is not among those that were named.
    private static let zoneBits = 10
    private static let mostZones = 1 << zoneBits
    /// A day's sum and how many drinks it is of are found as one number.
    private static let drinkBits = 20

    /// $1, $2: the days around now; $3: zones, UTC first; $4: today in each of them, for each hour at which it may have
    /// begun; $5: whom to show.
    ///
    /// Each day around now is a column of its own: looking for a person's day among the rows once more took as long as
    /// all the rest.
    private static let peopleOfToday = """
        WITH recent AS (
            SELECT r.person, max((r.last << \(zoneBits)) + coalesce(z.number - 1, \(mostZones - 1))) AS mark,
                \(around.map { "max((r.ml << \(drinkBits)) + least(r.drinks, \(1 << drinkBits - 1))) FILTER (WHERE r.day = $1::date + \($0)) AS sum\($0)" }.joined(separator: ", "))
            FROM day_roll r LEFT JOIN unnest($3::text[]) WITH ORDINALITY AS z (zone, number) ON z.zone = r.zone WHERE \
        r.day BETWEEN $1::date AND $2::date GROUP BY r.person
        ), dated AS (
            SELECT p.name, recent.*, ($4::date[])[coalesce(recent.mark & \(mostZones - 1), 0) * \(boundaries.count) + \
        coalesce(p.boundary, \(usualBoundary)) + 1] AS today
            FROM person p LEFT JOIN recent ON recent.person = p.name
            WHERE $5::text[] IS NULL OR p.name = ANY ($5::text[])
        )
        SELECT name, today - $1::date, sum >> \(drinkBits) AS ml, sum & \(1 << drinkBits - 1), mark >> \(zoneBits)
        FROM (SELECT *, coalesce(CASE today - $1::date \
        \(around.map { "WHEN \($0) THEN sum\($0)" }.joined(separator: " ")) END, 0) AS sum FROM dated) AS summed
        ORDER BY ml, name LIMIT \(FleetOverview.limit + 1)
        """

    /// The days around now, from the first on.
    private static let around = 0...2

    /// - Returns: `false` where not all of it is added up, also where the database may only be read: then what is there
    ///   is shown as it was added up last.
    private func refreshUnlessReadOnly(within limit: Duration, of person: String? = nil) throws -> Bool {
        do { return try refresh(within: limit, of: person).isAll } catch let failure as FleetFailure
            where failure.kind == .readOnly
        { return false }
    }

    /// A person's days with drinks, oldest first; `nil` where nobody goes by that name. Where something is in the way
    /// of adding them up they are those of before.
    public func days(of person: String) throws -> [(day: LocalDay, ml: Int, drinks: Int)]? {
        try addedUpDays(of: person)?.days
    }

    /// The same, and whether something is missing in them. That is known before they are read: what is added up in
    /// between is in them.
    public func addedUpDays(of person: String) throws -> (
        days: [(day: LocalDay, ml: Int, drinks: Int)], isBehind: Bool
    )? {
        guard try !connection.run("SELECT 1 FROM person WHERE name = $1", [person]).isEmpty else { return nil }
        let isBehind = try !refreshUnlessReadOnly(within: Self.lookLimit, of: person) && isBehind(of: person)
        let days = try connection.run("SELECT day, ml, drinks FROM day_roll WHERE person = $1 ORDER BY day", [person])
            .compactMap { row in
                row[0].flatMap(LocalDay.init).map {
                    (day: $0, ml: Int(row[1] ?? "") ?? 0, drinks: Int(row[2] ?? "") ?? 0)
                }
            }
        return (days, isBehind)
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
        try connection.run(
            """
            SELECT at, zone, day, ml, bottle FROM drink WHERE person = $1 AND NOT deleted AND ml > 0 ORDER BY at DESC, \
            key LIMIT $2::bigint
            """, [person, "\(limit)"]
        ).compactMap { row in
            guard let at = row[0].flatMap(Int64.init), let zone = row[1], let day = row[2].flatMap(LocalDay.init),
                let ml = row[3].flatMap(Int.init)
            else { return nil }
            return CountedDrink(at: Instant(milliseconds: at), zone: zone, day: day, ml: ml, bottle: row[4])
        }
    }
}
