import Foundation
import Glibc
import Support
import Synchronization
import Testing
import TrackerCore

@testable import FleetStore
@testable import FleetWire

@Suite(
    "What a fleet keeps",
    .enabled(if: PostgreSQL.isInstalled, "PostgreSQL 15 is not installed: apt-get install postgresql-15"))
struct FleetStoreTests {
    static func gateway(_ store: FleetStore, _ name: String) throws -> FleetVisitor {
        #expect(try store.enrol(name, as: .gateway, id: "id-\(name)", token: "hash-\(name)"))
        return try #require(try store.visitor("hash-\(name)"))
    }

    static func lines(_ entries: [FleetEntry], poison: [FleetLines.Poison] = []) throws -> FleetLines {
        var lines = try FleetLines([])
        (lines.entries, lines.poison) = (entries, poison)
        return lines
    }

    /// Five hundred gateways told a month, and the first look made twenty thousand days anew in one statement: the
    /// database ended it for the time it took, each time.
    @Test func whatWaitsAfterALongOutageIsAddedUpInPiecesThatFitIntoItsTime() async throws {
        let words = try await PostgreSQL.database()
        try FleetConnection(words, statementLimit: .seconds(120)).script(
            """
            INSERT INTO person (name) SELECT 'person-' || n FROM generate_series(0, 99) n;
            INSERT INTO entry (person, key, gateway, store, place, at, zone, day, ml, deleted, changed)
            SELECT 'person-' || n % 100, 'k' || n, 'g', 's', n, n, 'UTC', date '2020-01-01' + n / 100 % 200, 10, \
            false, 1 FROM generate_series(0, 159999) n
            """)
        let store = FleetStore(try FleetConnection(words, statementLimit: .seconds(1)))
        #expect(try store.refresh().people.count == 100)
        #expect(
            try store.connection.run("SELECT count(*), sum(ml), (SELECT count(*) FROM stale) FROM day_roll") == [
                ["20000", "1600000", "0"]
            ])
    }

    /// A month of five hundred gateways was there, and PostgreSQL knew little of it: for each twenty marked days it
    /// read all entries, and compiled the statement before.
    @Test func whatIsAddedUpAnewDoesNotHangOnHowMuchIsThere() async throws {
        let words = try await PostgreSQL.database()
        let connection = try FleetConnection(words, statementLimit: .seconds(120))
        #expect(try connection.run("SHOW jit") == [["off"]])
        // Nobody has counted it yet, as after a standby was promoted.
        try connection.script(
            """
            INSERT INTO entry (person, key, gateway, store, place, at, zone, day, ml, deleted, changed)
            SELECT 'person-' || n % 1000, 'k' || n, 'g', 's', n, n, 'UTC', date '2020-01-01' + n / 1000 % 30, 10, \
            false, 1 FROM generate_series(0, 149999) n
            """)
        let marks = try connection.run(
            """
            SELECT array_agg(person)::text, array_agg(day)::text FROM (SELECT person, day FROM stale ORDER BY \
            person, day LIMIT 20) AS few
            """
        )[0]
        let plan = try connection.run("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) " + FleetStore.makeAnew, marks)
            .compactMap(\.first).compactMap(\.self)
        let blocks = try #require(plan.first { $0.contains("Buffers: shared hit=") }).split(separator: "=").dropFirst()
            .reduce(0) { $0 + (Int($1.prefix { $0.isNumber }) ?? 0) }
        // 100 entries of some 20 days; all of it are 2,500 blocks, read three times.
        #expect(
            blocks < 2500 && !plan.contains { $0.contains("Seq Scan on entry") },
            "\(blocks) blocks\n\(plan.joined(separator: "\n"))")
        #expect(try connection.run("SELECT count(*), sum(ml) FROM day_roll") == [["20", "1000"]])
    }

    /// While six gateways told batch after batch there were new marks after each piece: who looked was answered by
    /// nothing, for minutes, and soon nobody could look any more.
    @Test func whoLooksIsNotHeldUpByWhatIsToldMeanwhile() async throws {
        let store = FleetStore(try FleetConnection(try await PostgreSQL.database()))
        let gateway = try Self.gateway(store, "one")
        _ = try store.take(Self.lines([FleetEntryTests.entry(ml: 70)]), from: gateway)
        // Whenever marks are taken away, somebody marks a day again; not for ever, so that this ends.
        try store.connection.script(
            """
            CREATE SEQUENCE again;
            CREATE FUNCTION mark_again() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF nextval('again') < 40 THEN INSERT INTO stale VALUES ('anna', '2026-02-01'); END IF;
                RETURN NULL;
            END $$;
            CREATE TRIGGER mark_again AFTER DELETE ON stale FOR EACH STATEMENT EXECUTE FUNCTION mark_again()
            """)
        #expect(try store.refresh().people == ["anna"])
        #expect(
            try store.connection.run(
                "SELECT last_value < 5, (SELECT sum(ml) FROM day_roll), (SELECT count(*) FROM stale) FROM again") == [
                    ["t", "70", "1"]
                ])
    }

    /// Over 379,000 marks a look did not end, since each thousand days took all of them in hand.
    @Test func marksAreTakenByTheirIndex() async throws {
        let connection = try FleetConnection(try await PostgreSQL.database(), statementLimit: .seconds(120))
        // Nobody has counted them yet.
        try connection.script(
            """
            ALTER TABLE stale SET (autovacuum_enabled = off); INSERT INTO stale SELECT 'person-' || n % 1000, date \
            '2020-01-01' + n / 1000 FROM generate_series(0, 399999) n
            """
        )
        let plan = try connection.run(
            "EXPLAIN "
                + FleetStore.pick(1000, of: nil).replacing("$1::text", with: "''").replacing(
                    "$2::date", with: "'-infinity'"
                ).replacing("$3::text", with: "NULL")
        ).compactMap(\.first).compactMap(\.self)
        #expect(
            !plan.contains { $0.contains("Seq Scan on stale") } && plan.contains { $0.contains("using stale_by_day") },
            "\(plan.joined(separator: "\n"))")
        let store = FleetStore(connection)
        let began = ContinuousClock.now
        let overview = try store.overview(now: Instant(milliseconds: 0))
        #expect(overview.isBehind && ContinuousClock.now - began < .seconds(20))
        let (people, isAll) = try store.refresh()
        #expect(isAll && !people.isEmpty)
        #expect(try store.figures().staleDays == 0)
        #expect(try !store.overview(now: Instant(milliseconds: 0)).isBehind)
    }

    /// While somebody added up for a long time, or everything anew, whoever looked was answered by nothing for 80 s.
    @Test func whoLooksWhileDaysAreAddedUpIsAnsweredWithWhatIsKnownAndToldSo() async throws {
        let words = try await PostgreSQL.database()
        let store = FleetStore(try FleetConnection(words))
        let gateway = try Self.gateway(store, "one")
        _ = try store.take(Self.lines([FleetEntryTests.entry(1, ml: 70)]), from: gateway)
        #expect(try store.days(of: "anna")?.map(\.ml) == [70])
        let other = try FleetConnection(words)
        try other.script("BEGIN; SELECT pg_advisory_xact_lock(\(FleetStore.rollLock))")
        _ = try store.take(Self.lines([FleetEntryTests.entry(2, key: "b", ml: 5)]), from: gateway)
        let began = ContinuousClock.now
        let overview = try store.overview(now: Instant(milliseconds: 0))
        #expect(overview.isBehind && overview.people.map(\.name) == ["anna"])
        #expect(
            try store.days(of: "anna")?.map(\.ml) == [70] && store.isBehind(of: "anna") && !store.isBehind(of: "bob"))
        #expect(ContinuousClock.now - began < .seconds(15))
        try other.script("COMMIT")
        #expect(try store.days(of: "anna")?.map(\.ml) == [75] && !store.isBehind(of: "anna"))
        #expect(try !store.overview(now: Instant(milliseconds: 0)).isBehind)
    }

    /// Days were read before anybody asked whether something was missing in them: where another server ended adding up
    /// in between, old figures were shown as if they were of now.
    @Test func whatIsAddedUpBetweenTwoQuestionsIsSeenOrSaidToBeMissing() async throws {
        let words = try await PostgreSQL.database()
        let store = FleetStore(try FleetConnection(words))
        let gateway = try Self.gateway(store, "one")
        _ = try store.take(Self.lines([FleetEntryTests.entry(1, ml: 70)]), from: gateway)
        #expect(try store.days(of: "anna")?.map(\.ml) == [70])
        _ = try store.take(Self.lines([FleetEntryTests.entry(2, key: "b", ml: 5)]), from: gateway)
        let other = try FleetConnection(words)
        try other.script(
            """
            BEGIN; SELECT pg_advisory_xact_lock(\(FleetStore.rollLock)); LOCK TABLE stale IN ACCESS EXCLUSIVE \
            MODE; UPDATE day_roll SET ml = 75, drinks = 2; DELETE FROM stale
            """
        )
        let (ends, end) = AsyncStream.makeStream(of: Result<(ml: [Int], isBehind: Bool)?, any Error>.self)
        // On a thread of its own: other tests keep the pool's waiting.
        Thread.detachNewThread {
            end.yield(
                Result {
                    try FleetStore(FleetConnection(words)).addedUpDays(of: "anna").map {
                        ($0.days.map(\.ml), $0.isBehind)
                    }
                })
        }
        let isAsking = try await eventAside {
            try FleetConnection(words).run(
                """
                SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'SELECT 1 FROM \
                stale%' AND datname = current_database()
                """
            ).isEmpty ? nil : true
        }
        #expect(isAsking == true)
        try other.script("COMMIT")
        let found = try #require(try await ends.first { _ in true }?.get())
        #expect(found.ml == [75] || found.isBehind)
    }

    /// Swift takes both spellings of the letter for one: of two drinks one was lost behind a 200, and of a person one
    /// was not asked about a gateway could tell all the same.
    @Test func twoSpellingsOfALetterAreTwoNames() async throws {
        let store = FleetStore(try FleetConnection(try await PostgreSQL.database()))
        let one = "jos\u{E9}", two = "jose\u{301}"
        #expect(one == two)
        let gateway = try Self.gateway(store, "one")
        let batch = try store.take(
            Self.lines([
                FleetEntryTests.entry(1, person: one, ml: 10), FleetEntryTests.entry(2, person: two, ml: 20),
                FleetEntryTests.entry(3, person: one, key: two, ml: 1),
                FleetEntryTests.entry(4, person: one, key: one, ml: 2),
            ]), from: gateway)
        #expect(batch.taken == 4)
        #expect(try store.overview(now: Instant(milliseconds: 0)).people.count == 2)
        #expect(try store.days(of: one)?.map(\.ml) == [13] && store.days(of: two)?.map(\.ml) == [20])
        #expect(try store.allow("one", people: [one]))
        for people in [[one, two], [two, one]] {
            #expect(throws: FleetBatch.NotAllowed.self) {
                try store.take(
                    Self.lines(
                        people.enumerated().map { FleetEntryTests.entry(5 + Int64($0.offset), person: $0.element) }),
                    from: gateway)
            }
        }
        let nurse = FleetVisitor(id: "n", name: "n", role: .carer, isRevoked: false, people: [one])
        #expect(nurse.sees(one) && !nurse.sees(two))
    }

    /// Two gateways that carry the same bottles tell drinks, corrections, deletions; batches are cut anywhere,
    /// shuffled, repeated, over two connections. What is there in the end is the fold of what each store said last.
    @Test(arguments: [1, 2, 3] as [UInt64]) func totalsAreTheFoldOfWhatWasTold(seed: UInt64) async throws {
        print("fleet fold: seed \(seed)")
        var chance = SeededGenerator(seed: seed)
        let words = try await PostgreSQL.database()
        let stores = [FleetStore(try FleetConnection(words)), FleetStore(try FleetConnection(words))]
        let gateways = [try Self.gateway(stores[0], "one"), try Self.gateway(stores[0], "two")]
        var told: [(gateway: Int, entry: FleetEntry)] = []
        for gateway in 0...1 {
            for place in 1...300 {
                let number = Int.random(in: 0..<80, using: &chance)
                var entry = FleetEntryTests.entry(
                    Int64(place), person: ["anna", "bob", nil][number % 3], store: "s\(gateway)", key: "k\(number)",
                    ml: Int.random(in: 0...500, using: &chance),
                    day: 20_486 + Int.random(in: 0..<4, using: &chance),
                    isDeleted: Int.random(in: 0..<6, using: &chance) == 0,
                    changed: Int64.random(in: 1...50, using: &chance))
                if Int.random(in: 0..<20, using: &chance) == 0 { entry.drink = nil }
                told.append((gateway, entry))
            }
        }
        var mail = (told + told.filter { _ in Bool.random(using: &chance) }).shuffled(using: &chance)
        while !mail.isEmpty {
            let batch = mail.prefix(Int.random(in: 1...90, using: &chance))
            mail.removeFirst(batch.count)
            // Somebody looks now and then: what is added up by then is moved again.
            if Int.random(in: 0..<4, using: &chance) == 0 { try stores.randomElement(using: &chance)?.refresh() }
            for gateway in 0...1 {
                let entries = batch.filter { $0.gateway == gateway }.map(\.entry)
                for _ in 0...Int.random(in: 0...1, using: &chance) {
                    _ = try stores.randomElement(using: &chance)?.take(Self.lines(entries), from: gateways[gateway])
                }
            }
        }
        // Once more, all of it: nothing is new.
        for gateway in 0...1 {
            let again = try stores[0].take(
                Self.lines(told.filter { $0.gateway == gateway }.map(\.entry)), from: gateways[gateway])
            #expect(again.taken == 0 && again.known == 300)
        }
        var last: [String: [Int: (name: String, entry: FleetEntry)]] = [:]
        for (gateway, entry) in told {
            last["\(entry.person ?? gateways[gateway].name) \(entry.key)", default: [:]][gateway] = (
                entry.person ?? gateways[gateway].name, entry
            )
        }
        var totals: [String: [LocalDay: [Int]]] = [:]
        for (_, sides) in last {
            let sides = sides.sorted { $0.key < $1.key }.map(\.value)
            guard sides.allSatisfy({ $0.entry.drink.map { !$0.isDeleted } ?? false }) else { continue }
            let winner = sides.dropFirst().reduce(sides[0]) {
                ($1.entry.drink?.changed.milliseconds ?? 0) > ($0.entry.drink?.changed.milliseconds ?? 0) ? $1 : $0
            }
            guard let drink = winner.entry.drink, drink.ml > 0 else { continue }
            totals[winner.name, default: [:]][drink.day, default: []].append(drink.ml)
        }
        // Made bit by bit they are what they are when all of it is made anew.
        let rolls = "SELECT person, day, ml, drinks, last, zone FROM day_roll ORDER BY person, day"
        try stores[1].refresh()
        let kept = try stores[0].connection.run(rolls)
        try stores[0].rebuild()
        #expect(try stores[0].connection.run(rolls) == kept && !kept.isEmpty, "seed \(seed)")
        for person in ["anna", "bob", "one", "two"] {
            let days = try #require(try stores[1].days(of: person))
            let expected = (totals[person] ?? [:]).sorted { $0.key < $1.key }.map {
                "\($0.key) \($0.value.reduce(0, +)) \($0.value.count)"
            }
            #expect(days.map { "\($0.day) \($0.ml) \($0.drinks)" } == expected, "seed \(seed), \(person)")
            // And what the overview says of a day is the same.
            for day in days {
                let noon = Instant(milliseconds: Int64(day.day.daysSince1970) * 86_400_000 + 43_200_000)
                let found = try stores[0].overview(now: noon).people.first { $0.name == person }
                #expect(
                    found?.todayMl == day.ml && found?.drinks == day.drinks, "seed \(seed), \(person) on \(day.day)")
            }
        }
    }

    /// After midnight the stores still count the evening before, and the fleet said "0 ml today" until the morning.
    @Test func afterMidnightItIsStillTheEveningBefore() async throws {
        let store = FleetStore(try FleetConnection(try await PostgreSQL.database()))
        let gateway = try Self.gateway(store, "one")
        _ = try store.take(Self.lines([FleetEntryTests.entry(ml: 250)]), from: gateway)
        // In Berlin, in winter: 03:59, and 04:00.
        let midnight = Int64(20_487) * 86_400_000
        for (minutes, ml) in [(179, 250), (180, 0)] {
            let person = try #require(
                try store.overview(now: Instant(milliseconds: midnight + Int64(minutes) * 60_000)).people.first)
            #expect(
                person.todayMl == ml && person.day == LocalDay(daysSince1970: ml > 0 ? 20_486 : 20_487).description,
                "\(minutes) minutes after midnight UTC: \(person)")
            // Who has not drunk since noon is seen, too.
            #expect(person.lastDrinkSecondsAgo == 23 * 3600 + Int64(minutes) * 60)
        }
    }

    @Test func whatPostgreSQLRefusesIsSetAsideAndTheRestIsTaken() async throws {
        let store = FleetStore(try FleetConnection(try await PostgreSQL.database()))
        let gateway = try Self.gateway(store, "one")
        var entries = (1...9).map { FleetEntryTests.entry(Int64($0), key: "k\($0)", ml: 100) }
        entries[4].drink?.ml = -5
        let poison = FleetLines.Poison(line: "{\u{0}\"", reason: "it is no JSON")
        for taken in [8, 0] {
            let batch = try store.take(Self.lines(entries, poison: [poison]), from: gateway)
            #expect(batch.taken == taken && batch.parked == 2 && batch.known == 8 - taken)
        }
        let parked = try store.connection.run("SELECT line, reason FROM parked ORDER BY reason DESC").map {
            $0.compactMap(\.self)
        }
        #expect(
            parked.count == 2 && parked[0] == ["{\u{FFFD}\"", "it is no JSON"] && parked[1][0].contains(#""ml":-5"#),
            "\(parked)")
        #expect(try store.days(of: "anna")?.first?.ml == 800)
        #expect(try store.overview(now: Instant(milliseconds: 0)).gateways.map(\.poisoned) == [4])
    }

    /// An adversary's finding: a gateway that was enrolled and never came was "seen 0 s ago", for PostgreSQL's
    /// `greatest` leaves NULL out.
    @Test func whoNeverCameWasNeverSeen() async throws {
        let store = FleetStore(try FleetConnection(try await PostgreSQL.database()))
        _ = try Self.gateway(store, "silent")
        #expect(try store.overview(now: Instant(milliseconds: 0)).gateways.map(\.seenSecondsAgo) == [nil])
        _ = try store.take(Self.lines([FleetEntryTests.entry()]), from: Self.gateway(store, "busy"))
        #expect(
            try store.overview(now: Instant(milliseconds: 0)).gateways.map { [$0.name: $0.seenSecondsAgo == nil] } == [
                ["silent": true], ["busy": false],
            ])
    }

    @Test func whoWasRevokedStoresNothing() async throws {
        let store = FleetStore(try FleetConnection(try await PostgreSQL.database()))
        let gateway = try Self.gateway(store, "one")
        #expect(
            try !store.enrol("one", as: .reader, id: "x", token: "y") && store.revoke("one") && !store.revoke("two"))
        #expect(throws: FleetBatch.Revoked()) { try store.take(Self.lines([FleetEntryTests.entry()]), from: gateway) }
        #expect(try store.days(of: "anna") == nil)
        #expect(try store.visitor("hash-one")?.isRevoked == true)
    }

    @Test func tablesOfAnotherVersionAreToldInWords() async throws {
        let words = try await PostgreSQL.database(migrated: false)
        let store = FleetStore(try FleetConnection(words))
        #expect(Self.failure { try store.check() }?.kind == .schema)
        // Two at once: one does it, the other finds it done.
        let results = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<3 { group.addTask { try FleetStore(FleetConnection(words)).migrate().before } }
            return try await group.reduce(into: []) { $0.append($1) }.sorted()
        }
        #expect(results == [0, FleetStore.version, FleetStore.version])
        try store.check()
        try store.connection.run("INSERT INTO fleet_schema (version) VALUES (99)")
        for body in [{ try store.check() }, { _ = try store.migrate() }] {
            let failure = Self.failure(body)
            #expect(failure?.kind == .schema && failure?.sentence.contains("of version 99") == true)
        }
    }

    /// Of a large batch that lies beyond what is known nothing is looked for; where something is there all the same, or
    /// in it twice, it is stored as any other.
    @Test func aLargeBatchIsTakenForNewOnlyWhereItIs() async throws {
        let words = try await PostgreSQL.database(), store = FleetStore(try FleetConnection(words)),
            gateway = try Self.gateway(store, "one")
        func all(_ places: ClosedRange<Int>, ml: Int, key: (Int) -> Int = { $0 }) -> [FleetEntry] {
            places.map {
                FleetEntryTests.entry(
                    Int64($0), person: $0 % 2 == 0 ? "anna" : "Zoe\u{308}",
                    key: "A4:C1:38:01:02:03|2026-02-02T22:21:10|\(key($0))", ml: ml, changed: Int64($0))
            }
        }
        func stored() throws -> [[String?]] {
            try store.connection.run("SELECT count(*), sum(ml), max(place), count(DISTINCT key) FROM entry")
        }
        func audited() throws -> String? {
            try store.connection.run("SELECT what FROM audit WHERE kind = 'batch' ORDER BY at DESC LIMIT 1").first
                .flatMap { $0[0] }
        }
        var batch = try store.take(Self.lines(all(1...200, ml: 10)), from: gateway)
        #expect(
            try batch.taken == 200 && batch.known == 0 && stored() == [["200", "2000", "200", "200"]]
                && audited() == "told 200 of Zoe\u{308}, anna")
        #expect(
            try store.connection.run("SELECT entries FROM gateway") == [["200"]]
                && store.connection.run("SELECT name, person FROM bottle") == [["A4:C1:38:01:02:03", "anna"]])
        // The same again.
        batch = try store.take(Self.lines(all(1...200, ml: 10)), from: gateway)
        #expect(try batch.taken == 0 && batch.known == 200 && stored() == [["200", "2000", "200", "200"]])
        // Beyond what is known, and corrections: the rows are there.
        batch = try store.take(Self.lines(all(201...400, ml: 20) { $0 - 200 }), from: gateway)
        #expect(try batch.taken == 200 && stored() == [["200", "4000", "400", "200"]])
        // In it twice: the greater place counts.
        batch = try store.take(
            Self.lines((all(401...600, ml: 30) + all(601...800, ml: 40) { $0 - 200 }).shuffled()), from: gateway)
        #expect(try batch.taken == 200 && batch.known == 200 && stored() == [["400", "12000", "800", "400"]])
        // Nobody knows any more how far the store is known.
        try store.connection.run("DELETE FROM teller")
        batch = try store.take(Self.lines(all(401...600, ml: 30) + all(900...999, ml: 50)), from: gateway)
        #expect(try batch.taken == 100 && batch.known == 200 && stored() == [["500", "17000", "999", "500"]])
        // Nor does one that PostgreSQL does not take hold up the others, nor come in who is forgotten.
        #expect(try store.forget("anna"))
        batch = try store.take(
            Self.lines(all(1001...1200, ml: 1) + [FleetEntryTests.entry(1300, person: "Zoe\u{308}", key: "\0", ml: 1)]),
            from: gateway)
        #expect(
            try batch.taken == 100 && batch.parked == 1
                && store.connection.run("SELECT count(*) FROM entry WHERE person = 'anna'") == [["0"]])
        #expect(
            try store.refresh().people.count == 1
                && store.connection.run("SELECT count(*) FROM day_total")
                    == store.connection.run("SELECT count(*) FROM day_roll")
        )
        // Where PostgreSQL itself finds that something is there it writes all of it into its log.
        #expect(try await !PostgreSQL.shared.value.running.error.contains("|2026-02-02T22:21:10|"))
    }

    /// A database that writes dates as in Germany put a drink of the third of January onto the first of March; one that
    /// shows each transaction the moment at which it began stored a batch behind whoever forgot.
    @Test func howADatabaseIsSetChangesNothing() async throws {
        let words = try await PostgreSQL.database()
        let name = try #require(try FleetConnection(words).run("SELECT current_database()").first?.first ?? nil)
        for (key, value) in [
            ("datestyle", "'German'"), ("intervalstyle", "'sql_standard'"), ("timezone", "'Asia/Tokyo'"),
            ("default_transaction_isolation", "'repeatable read'"), ("client_encoding", "'LATIN1'"),
            ("standard_conforming_strings", "off"), ("array_nulls", "off"), ("escape_string_warning", "off"),
        ] { try FleetConnection(words).script("ALTER DATABASE \(name) SET \(key) = \(value)") }
        let store = FleetStore(try FleetConnection(words))
        #expect(
            try store.connection.run(
                """
                SELECT date '2026-01-03', '{NULL}'::text[] IS NOT DISTINCT FROM ARRAY[NULL], interval '1 day \
                02:00', current_setting('timezone'), '\\', 'Ω'
                """
            ) == [["2026-01-03", "t", "1 day 02:00:00", "UTC", "\\", "Ω"]])
        #expect(try store.connection.run("SHOW transaction_isolation") == [["read committed"]])
        let gateway = try Self.gateway(store, "one")
        _ = try store.take(Self.lines([FleetEntryTests.entry(ml: 70, day: 20_456)]), from: gateway)
        #expect(try store.days(of: "anna")?.map(\.day) == [LocalDay(daysSince1970: 20_456)])
        // A batch waits for whoever forgets, and finds it done.
        let other = try FleetConnection(words)
        try other.script(
            """
            BEGIN; SELECT pg_advisory_xact_lock(\(FleetStore.batchLock)); INSERT INTO forgotten (digest) VALUES \
            (\(FleetStore.digest("'bob'")))
            """
        )
        async let taken = Self.tell("bob", gateway, words)
        let isWaiting = try await event {
            try store.connection.run(
                "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'advisory' AND datname = current_database()"
            ).isEmpty ? nil : true
        }
        #expect(isWaiting == true)
        try other.script("COMMIT")
        #expect(try await taken == 0 && store.days(of: "bob") == nil)
    }

    private static func tell(_ person: String, _ gateway: FleetVisitor, _ words: String) async throws -> Int {
        try FleetStore(FleetConnection(words)).take(lines([FleetEntryTests.entry(2, person: person)]), from: gateway)
            .taken
    }

    /// A name that it cannot write kept a gateway's batch out for good.
    @Test(arguments: ["LATIN1", "SQL_ASCII"]) func aDatabaseThatCannotHoldEveryNameIsRefusedInWords(encoding: String)
        async throws
    {
        let name = "e\(UUID().uuidString.prefix(8).lowercased())", server = try await PostgreSQL.shared.value
        try FleetConnection(server.words("postgres")).script(
            "CREATE DATABASE \(name) TEMPLATE template0 ENCODING '\(encoding)'")
        let store = FleetStore(try FleetConnection(server.words(name)))
        for body in [{ _ = try store.migrate() }, { try store.check() }] {
            let failure = Self.failure(body)
            #expect(
                failure?.kind == .encoding && failure?.sentence.contains("keeps texts as \(encoding)") == true,
                "\(String(describing: failure))")
        }
        #expect(try store.connection.run("SELECT to_regclass('fleet_schema')") == [[nil]])
        for command in ["migrate", "serve"] {
            let result = try await Program("waterh-fleet").run([command, "--database", server.words(name)])
            #expect(
                result.exitCode == 1 && result.error.contains("createdb --template=template0 --encoding=UTF8 NAME"),
                "\(result.exitCode) \(result.error)")
        }
    }

    @Test func whatPostgreSQLSaysBecomesAKindAndWords() async throws {
        let words = try await PostgreSQL.database()
        let store = FleetStore(try FleetConnection(words, statementLimit: .milliseconds(300)))
        #expect(Self.failure { try store.connection.run("SELECT pg_sleep(20)") }?.kind == .slow)
        try store.connection.script("SET default_transaction_read_only = on")
        let gateway = FleetVisitor(id: "x", name: "x", role: .gateway, isRevoked: false)
        #expect(
            Self.failure { _ = try store.take(Self.lines([FleetEntryTests.entry()]), from: gateway) }?.kind == .readOnly
        )
        try store.connection.script("SET default_transaction_read_only = off")
        let other = try FleetConnection(words)
        let number = try #require(try store.connection.run("SELECT pg_backend_pid()").first?.first ?? nil)
        try other.run("SELECT pg_terminate_backend($1::integer)", [number])
        #expect(
            Self.failure { try store.connection.run("SELECT 1") }?.kind == .unreachable && store.connection.isBroken)
        #expect(Self.failure { _ = try FleetConnection("no = such = words") }?.kind == .wrongUse)
        #expect(Self.failure { _ = try FleetConnection("host=/nowhere/at/all") }?.kind == .unreachable)
        #expect(
            Self.failure { _ = try FleetConnection(words.replacing("user=fleet", with: "user=nobody-here")) }?.kind
                == .notLetIn)
        #expect(Self.failure { _ = try FleetConnection(words + " dbname=nowhere") }?.kind == .wrongUse)
        for (state, kind) in [
            ("53100", FleetFailure.Kind.full), ("53300", .tooMany), ("40001", .collision), ("57P03", .unreachable),
            ("22021", .badData), ("XX000", .broken),
        ] {
            #expect(FleetFailure(state: state, "it said so", at: "there").kind == kind)
        }
    }

    @Test func whoSaysNothingIsNotWaitedForLongerThanTheLimit() throws {
        try Self.withSilence { port in
            let before = ContinuousClock.now
            let failure = Self.failure {
                _ = try FleetConnection("host=127.0.0.1 sslmode=disable port=\(port)", connectLimit: .seconds(1))
            }
            #expect(failure?.kind == .unreachable && ContinuousClock.now - before < .seconds(10))
        }
    }

    /// A primary that hangs, or whose machine is gone, refuses nobody: libpq never came to the standby that had been
    /// promoted, and servers answered 503 for good.
    @Test func aPlaceThatSaysNothingIsNotInTheWayOfTheNext() async throws {
        let words = try await PostgreSQL.database()
        try Self.withSilence { port in
            let connection = try FleetConnection(
                words.replacing("host=", with: "host=127.0.0.1,")
                    + " port=\(port),5432 sslmode=disable target_session_attrs=read-write")
            #expect(try connection.run("SELECT 1") == [["1"]] && connection.place.hasPrefix("/"))
        }
    }

    /// Hands over a port at which somebody takes calls and says nothing.
    private static func withSilence(_ body: (UInt16) throws -> Void) throws {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 && listen(socket, 4) == 0 && getsockname(socket, $0, &length) == 0
            }
        }
        #expect(isBound)
        try body(UInt16(bigEndian: address.sin_port))
    }

    private static func failure(_ body: () throws -> Void) -> FleetFailure? {
        do {
            try body()
            return nil
        } catch { return error as? FleetFailure }
    }
}
