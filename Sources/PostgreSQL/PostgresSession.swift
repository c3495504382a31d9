import Store
import TrackerCore

/// A connection of a gateway to a database with the schema.
struct PostgresSession: Sendable {
    /// The largest number of drinks in a transaction.
    static let limit = 10_000

    let connection = PostgresConnection()
    /// The gateway's row: the store that writes, and the last change of it that is in the journal.
    private(set) var store: String?
    private(set) var epoch: Int64?
    private(set) var position: Int64 = 0
    private var preparedMonths: Set<Int> = []

    /// Connects, and checks the schema and the role.
    init(_ plan: PostgresPlan) async throws {
        try await connection.open(plan)
        let rows = try await connection.run(
            """
            SELECT s.version, g.name, g.store, g.epoch, g.position FROM waterh.schema s
            LEFT JOIN waterh.gateway g ON g.name = current_user::text
            """)
        try PostgresSchema.check(rows.first?[0].flatMap { Int($0) } ?? 0)
        guard let row = rows.first, row[1] != nil else {
            throw PostgresFailure(
                "the role is not a gateway of this database",
                advice: "\(PostgresFailure.initialise) --gateway NAME.")
        }
        (store, epoch, position) = (row[2], row[3].flatMap { Int64($0) }, row[4].flatMap { Int64($0) } ?? 0)
    }

    /// Orders the transactions of a gateway: a killed process can have one that is still running.
    private static let lock = "SELECT pg_advisory_xact_lock(hashtext('waterh.journal'), hashtext(current_user))"

    /// Makes this store the one that writes. Its transfer is complete after `adopt`.
    mutating func claim(_ store: String) async throws {
        let rows = try await connection.run(
            """
            UPDATE waterh.gateway SET store = $1, epoch = NULL
            WHERE name = current_user::text AND (store IS NULL OR store = $1) RETURNING name
            """, [.text(store)])
        guard !rows.isEmpty else { throw PostgresFailure.otherStore }
        (self.store, epoch) = (store, nil)
    }

    /// Whether the journal has no row of this gateway.
    func isEmpty() async throws -> Bool {
        try await connection.run(Self.lock)
        return try await connection.run("SELECT FROM waterh.journal WHERE gateway = current_user::text LIMIT 1").isEmpty
    }

    /// The keys of the drinks that count in the journal.
    func keys() async throws -> Set<String> {
        Set(
            try await connection.run(
                "SELECT key FROM waterh.drinks WHERE gateway = current_user::text"
            ).compactMap { $0[0] })
    }

    /// The states of drinks, encoded for one transaction.
    struct Batch: Sendable {
        /// A day of each month, by month.
        let months: [Int: Int]
        let parameters: [PostgresParameter]

        /// - Parameter drinks: the drinks by distinct keys; `nil` for a drink that the store no longer has.
        init(_ drinks: [(key: String, drink: StoredDrink?)]) {
            let drinks = drinks.map { (key: $0.key, drink: $0.drink?.drink.counts == true ? $0.drink : nil) }
            months = Dictionary(
                drinks.compactMap(\.drink?.localDay).map { ($0.year * 12 + $0.month, $0.daysSince1970) }
            ) { first, _ in first }
            parameters = [
                .texts(drinks.map(\.key)), .instants(drinks.map { $0.drink?.at.milliseconds }),
                .days(drinks.map { $0.drink?.localDay.daysSince1970 }), .texts(drinks.map { $0.drink?.zone }),
                .integers(drinks.map { $0.drink?.ml }), .texts(drinks.map { $0.drink?.source.rawValue }),
            ]
        }
    }

    /// Writes a batch in one transaction. A state that the journal has already adds nothing.
    /// - Parameters:
    ///   - isFirst: whether the journal has no row of these drinks, which is faster.
    ///   - position: the position of the last of these changes; `nil` keeps the position.
    mutating func write(_ batch: Batch, isFirst: Bool, position: Int64?) async throws {
        let unprepared = batch.months.filter { !preparedMonths.contains($0.key) }
        if !unprepared.isEmpty {
            try await connection.run("SELECT waterh.prepare($1)", [.days(Array(unprepared.values))])
            preparedMonths.formUnion(unprepared.keys)
        }
        // A lost connection must not keep the lock. Small partitions must be read by index, too.
        try await connection.run(
            """
            BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = '\(PostgresConnection.serverLimit)';
            SET LOCAL idle_in_transaction_session_timeout = '\(PostgresConnection.serverLimit)';
            SET LOCAL tcp_keepalives_idle = 10; SET LOCAL tcp_keepalives_interval = 5;
            SET LOCAL tcp_keepalives_count = 3; SET LOCAL enable_seqscan = off; \(Self.lock)
            """)
        try await connection.run(isFirst ? Self.insertFirst : Self.insertChanges, batch.parameters)
        let rows = try await connection.run(
            """
            UPDATE waterh.gateway SET position = coalesce($1, position)
            WHERE name = current_user::text AND store = $2 RETURNING name
            """, [.integer(position), .text(store)])
        guard !rows.isEmpty else { throw PostgresFailure.otherStore }
        try await connection.run("COMMIT")
        if let position { self.position = position }
    }

    /// Records that the journal has all drinks of the store up to a position.
    mutating func adopt(epoch: Int64, position: Int64) async throws {
        let rows = try await connection.run(
            """
            UPDATE waterh.gateway SET epoch = $1, position = $2
            WHERE name = current_user::text AND store = $3 RETURNING name
            """, [.integer(epoch), .integer(position), .text(store)])
        guard !rows.isEmpty else { throw PostgresFailure.otherStore }
        (self.epoch, self.position) = (epoch, position)
    }

    /// Reports the state of the gateway, for the dashboard.
    func report(_ settings: Settings, zone: Zone, bottles: [KnownBottle], version: String) async throws {
        let own = bottles.filter(\.isOwn)
        try await connection.run(
            """
            UPDATE waterh.gateway SET seen = now(), version = $1, zone = $2, day_hour = $3, goal_ml = $4,
                wake = $5::time, sleep = $6::time, battery = $7, polled = to_timestamp($8 / 1000.0)
            WHERE name = current_user::text
            """,
            [
                .text(version), .text(zone.id), .integer(Int64(settings.boundaryHour)),
                .integer(Int64(settings.goalMl)),
                .text("\(settings.wake)"), .text("\(settings.sleep)"),
                .integer(own.compactMap(\.batteryPercent).min().map(Int64.init)),
                .integer(own.compactMap(\.lastCompletePoll).max()?.milliseconds),
            ])
    }

    private static let sent = "unnest($1, $2, $3, $4, $5, $6) AS s (key, at, day, zone, ml, source)"

    /// ON CONFLICT would cost a third of the speed. If two processes of this gateway insert at the same time, one
    /// of them fails, and its next attempt compares the drinks.
    private static let insertFirst = """
        INSERT INTO waterh.journal (key, n, at, day, zone, ml, source)
        SELECT key, 0, at, day, zone, ml, source FROM \(sent) WHERE ml IS NOT NULL
        """

    /// Compares each drink with its last entry, which has an even number if the drink counts. A change withdraws that
    /// entry and adds another one.
    private static let insertChanges = """
        WITH changed AS (
            SELECT s.*, l.n AS last, l.at AS old_at, l.day AS old_day, l.zone AS old_zone, l.ml AS old_ml,
                l.source AS old_source
            FROM \(sent) LEFT JOIN LATERAL (
                SELECT * FROM waterh.journal j WHERE j.gateway = current_user::text AND j.key = s.key
                ORDER BY n DESC LIMIT 1) l ON true
            WHERE CASE WHEN l.n & 1 = 0 THEN (l.at, l.day, l.zone, l.ml, l.source) IS DISTINCT FROM
                (s.at, s.day, s.zone, s.ml, s.source) ELSE s.ml IS NOT NULL END
        )
        INSERT INTO waterh.journal (key, n, at, day, zone, ml, source)
        SELECT key, last + 1, old_at, old_day, old_zone, -old_ml, old_source FROM changed WHERE last & 1 = 0
        UNION ALL SELECT key, coalesce(last + 2 - (last & 1), 0), at, day, zone, ml, source FROM changed
            WHERE ml IS NOT NULL
        ON CONFLICT DO NOTHING
        """
}
