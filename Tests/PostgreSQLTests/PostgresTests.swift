import Foundation
import Store
import Support
import Testing
import TrackerCore
import TrackerService
import TrackerSupport

@testable import PostgreSQL

@Suite struct PostgresTests {
    let database: TestDatabase
    let rig: GatewayRig

    init() async throws {
        database = try await TestDatabase()
        rig = try await GatewayRig(database.gateway())
    }

    // MARK: - Drinks

    @Test func `days equal those of the store after corrections and deletions`() async throws {
        let keys = try rig.drink(60)
        try await rig.publisher.send()
        #expect(try await rig.days(in: database) == rig.days())

        _ = try rig.tracker.edit(keys[0], EntryChange(ml: 55))
        _ = try rig.tracker.edit(keys[1], EntryChange(at: Instant.current.advanced(seconds: -40 * 86400)))
        _ = try rig.tracker.delete(keys[2])
        _ = try rig.tracker.delete(keys[3])
        _ = try rig.tracker.undo()
        try rig.drink(3, every: 1)
        try await rig.publisher.send()
        #expect(try await rig.days(in: database) == rig.days())
        let drinks = try await database.run("SELECT sum(ml), count(*) FROM waterh.drinks WHERE person = '\(rig.role)'")
        let totals = try await database.run("SELECT ml, drinks FROM waterh.totals WHERE person = '\(rig.role)'")
        let sum = try rig.days().compactMap { $0[1].flatMap { Int($0) } }.reduce(0, +)
        #expect(drinks == totals)
        #expect(totals == [["\(sum)", "\(try rig.store.countedDrinks())"]])
        #expect(try rig.store.waitingChanges(for: "postgres") == 0)
    }

    @Test func `a second transfer of the same drinks adds no entries`() async throws {
        _ = try rig.tracker.delete(rig.drink(20)[4])
        try await rig.publisher.send()
        let entries = try await database.value("SELECT count(*) FROM waterh.journal")
        for change in ["position = 0", "store = NULL", "epoch = 7"] {
            try await database.run("UPDATE waterh.gateway SET \(change)")
            try await rig.publisher.send()
            #expect(try await database.value("SELECT count(*) FROM waterh.journal") == entries, "\(change)")
        }
        #expect(try await rig.days(in: database) == rig.days())
    }

    @Test func `a database that was restored from a backup receives what it lost`() async throws {
        let keys = try rig.drink(10)
        try await rig.publisher.send()
        try await database.run(
            "CREATE TABLE j AS TABLE waterh.journal; CREATE TABLE p AS SELECT position FROM waterh.gateway")
        try rig.drink(5, every: 1)
        _ = try rig.tracker.delete(keys[0])
        try await rig.publisher.send()
        try await database.run(
            """
            DELETE FROM waterh.journal; INSERT INTO waterh.journal TABLE j;
            UPDATE waterh.gateway SET position = (SELECT position FROM p)
            """)
        try await rig.publisher.send()
        #expect(try await rig.days(in: database) == rig.days())
    }

    @Test func `drinks that were logged while the publisher was off are sent later`() async throws {
        let keys = try rig.drink(5)
        try await rig.publisher.send()
        PostgresPublisher.turnOff(rig.store)
        try rig.drink(3, every: 1)
        _ = try rig.tracker.delete(keys[0])
        try await rig.publisher.send()
        #expect(try await rig.days(in: database) == rig.days())
    }

    @Test func `a restored store withdraws the drinks that it lost`() async throws {
        try rig.drink(10)
        try await rig.publisher.send()
        try rig.store.backUp(to: rig.folder.file("backup.sqlite"))
        try rig.drink(5, every: 1)
        try await rig.publisher.send()
        _ = try rig.tracker.restore(from: rig.folder.file("backup.sqlite"), scratch: rig.folder.path)
        try await rig.publisher.send()
        #expect(try rig.store.countedDrinks() == 10)
        #expect(try await rig.days(in: database) == rig.days())
    }

    @Test func `a second store needs a role of its own, or the administrator's consent`() async throws {
        try rig.drink(4)
        try await rig.publisher.send()
        let second = try await GatewayRig(database.gateway(rig.role))
        // The new password is for the second store. The first one no longer connects.
        try second.drink(2)
        try await second.publisher.send()
        #expect(try await second.days(in: database) == second.days())
        let third = try GatewayRig(await database.gateway(rig.role), store: rig.store)
        try await database.run("UPDATE waterh.gateway SET store = 'another'")
        await #expect { try await third.publisher.send() } throws: {
            "\($0)".contains("another store writes as this role")
        }
    }

    @Test func `only one of two new stores writes when both have the same role`() async throws {
        let plan = try await database.gateway()
        let rigs = try [GatewayRig(plan), GatewayRig(plan)]
        for rig in rigs { try rig.drink(20) }
        let failures = await withTaskGroup(of: String?.self) { group in
            for rig in rigs {
                group.addTask {
                    do { try await rig.publisher.send() } catch { return "\(error)" }; return nil
                }
            }
            return await group.reduce(into: []) { $0.append($1) }.compactMap(\.self)
        }
        #expect(failures.count == 1 && failures[0].contains("another store writes as this role"), "\(failures)")
        #expect(try await database.value("SELECT sum(1 - 2 * (n & 1)) FROM waterh.journal") == "20")
    }

    @Test func `a gateway's role cannot be one of an administrator`() async throws {
        await #expect(throws: PostgresFailure.self) { try await database.gateway("admin") }
    }

    @Test func `the view of today has all people if one has an unknown zone`() async throws {
        let database = try await TestDatabase()
        for zone in ["Europe/Berlin", "Nowhere/Else"] {
            let role = TestDatabase.unusedName()
            _ = try await database.gateway(role)
            try await database.run(
                "UPDATE waterh.gateway SET zone = '\(zone)', day_hour = 2147483647 WHERE name = '\(role)'")
        }
        #expect(try await database.value("SELECT count(*) FROM waterh.today") == "2")
    }

    @Test func `rows move into the partition of their month when it is created`() async throws {
        _ = try rig.tracker.logDrink(.ml(300), at: Instant(milliseconds: 1_204_372_800_000))
        try rig.drink(2)
        try await rig.publisher.send()
        #expect(try await database.value("SELECT count(*) FROM waterh.journal_other") == "1")
        // As if the drinks had been written before their month was near.
        try await database.run(
            """
            DO $$ DECLARE part regclass; BEGIN
                FOR part IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'waterh.journal'::regclass
                    AND inhrelid <> 'waterh.journal_other'::regclass LOOP
                    EXECUTE format('ALTER TABLE waterh.journal DETACH PARTITION %s', part);
                    EXECUTE format('INSERT INTO waterh.journal SELECT * FROM %s', part);
                    EXECUTE format('DROP TABLE %s', part);
                END LOOP;
            END $$
            """)
        #expect(try await database.value("SELECT count(*) FROM waterh.journal_other") == "3")
        try rig.drink(2, every: 1)
        try await rig.publisher.send()
        #expect(try await rig.days(in: database) == rig.days())
        #expect(try await database.value("SELECT count(*) FROM waterh.journal_other") == "1")
    }

    // MARK: - Rights

    @Test func `two gateways write at once, and each reads and writes only its own rows`() async throws {
        let rigs = try await [rig, GatewayRig(database.gateway())]
        for (rig, count) in zip(rigs, [300, 200]) { try rig.drink(count, every: 2) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for rig in rigs { group.addTask { try await rig.publisher.send() } }
            try await group.waitForAll()
        }
        for rig in rigs { #expect(try await rig.days(in: database) == rig.days()) }

        let plan = try await database.gateway(rigs[0].role)
        func run(_ script: String) async throws -> [[String?]] {
            let connection = PostgresConnection()
            try await connection.open(plan)
            return try await connection.run(script)
        }
        #expect(try await run("SELECT DISTINCT gateway FROM waterh.journal") == [[rigs[0].role]])
        #expect(try await run("SELECT DISTINCT person FROM waterh.days") == [[rigs[0].role]])
        #expect(try await run("SELECT gateway FROM waterh.today") == [[rigs[0].role]])
        let columns = "(gateway, key, n, at, day, zone, ml, source)"
        for forbidden in [
            "INSERT INTO waterh.journal \(columns) VALUES ('\(rigs[1].role)', 'k', 0, now(), now(), 'UTC', 1, 'x')",
            "UPDATE waterh.journal SET ml = 1", "DELETE FROM waterh.journal", "TRUNCATE waterh.journal",
            "SELECT FROM waterh.journal_other", "UPDATE waterh.gateway SET person = 'x'",
            "INSERT INTO waterh.gateway (name, person) VALUES ('x', 'x')", "CREATE TABLE waterh.x ()",
        ] {
            await #expect("\(forbidden)") { _ = try await run(forbidden) } throws: {
                ($0 as? PostgresFailure)?.sqlState == "42501"
            }
        }
        #expect(try await run("UPDATE waterh.gateway SET seen = now() RETURNING name") == [[rigs[0].role]])
    }

    @Test func `a viewer reads all rows and writes none`() async throws {
        let database = try await TestDatabase()
        let rig = try await GatewayRig(database.gateway(person: "Anna"))
        try rig.drink(5)
        try await rig.publisher.send()
        let viewer = try await database.viewer()
        #expect(try await viewer.run("SELECT person, drinks FROM waterh.totals") == [["Anna", "5"]])
        await #expect(throws: PostgresFailure.self) { try await viewer.run("DELETE FROM waterh.journal") }
    }

    // MARK: - Faults

    /// A fault of the database: the statements that cause and end it, and a part of the message.
    struct Fault: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var begin: String
        var end: String
        var message: String
    }

    static let faults = [
        Fault(
            testDescription: "read-only", begin: "ALTER DATABASE DB SET default_transaction_read_only = on",
            end: "ALTER DATABASE DB RESET default_transaction_read_only", message: "Name the primary"),
        Fault(
            testDescription: "full disk",
            begin: """
                CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN RAISE 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
                CREATE TRIGGER full_disk BEFORE INSERT ON waterh.journal FOR EACH ROW EXECUTE FUNCTION full_disk()
                """, end: "DROP FUNCTION full_disk CASCADE", message: "The disk of the database is full"),
        Fault(
            testDescription: "older schema", begin: "UPDATE waterh.schema SET version = 0",
            end: "UPDATE waterh.schema SET version = 1", message: "postgres init URL"),
        Fault(
            testDescription: "newer schema", begin: "UPDATE waterh.schema SET version = 2",
            end: "UPDATE waterh.schema SET version = 1", message: "Update the gateway"),
        Fault(
            testDescription: "no schema", begin: "ALTER SCHEMA waterh RENAME TO other",
            end: "ALTER SCHEMA other RENAME TO waterh", message: "no schema of this version"),
        Fault(
            testDescription: "revoked role", begin: "REVOKE waterh_gateway FROM ROLE",
            end: "GRANT waterh_gateway TO ROLE", message: "missing or revoked"),
        Fault(
            testDescription: "locked role", begin: "ALTER ROLE ROLE NOLOGIN", end: "ALTER ROLE ROLE LOGIN",
            message: "not permitted to log in"),
        Fault(
            testDescription: "other password", begin: "ALTER ROLE ROLE PASSWORD 'other'",
            end: "UPDATE pg_authid SET rolpassword = (SELECT v FROM verifier) WHERE rolname = 'ROLE'",
            message: "Check the role in url and the password"),
    ]

    @Test(arguments: faults) func `all drinks arrive after a fault, which is reported once`(_ fault: Fault) async throws
    {
        func run(_ script: String) async throws {
            // A read-only database is changed from another one.
            try await database.server.run(
                script.replacing("DB", with: database.name).replacing("ROLE ROLE", with: "ROLE \(rig.role)")
                    .replacing("FROM ROLE", with: "FROM \(rig.role)").replacing("TO ROLE", with: "TO \(rig.role)")
                    .replacing("'ROLE'", with: "'\(rig.role)'"),
                in: script.contains("DATABASE") ? "postgres" : database.name)
        }
        try await run("CREATE TABLE verifier AS SELECT rolpassword AS v FROM pg_authid WHERE rolname = 'ROLE'")
        let keys = try rig.drink(10)
        rig.start()
        #expect(try await rig.isComplete(in: database))

        try await run(fault.begin)
        try rig.drink(3, every: 1)
        _ = try rig.tracker.delete(keys[0])
        let message = try await rig.problem()
        #expect(message.contains(fault.message), "\(message)")
        try await run(fault.end)
        #expect(try await rig.isComplete(in: database))
        #expect(try await eventually(within: 60) { try rig.store.publisherErrors().isEmpty })
        await rig.stop()
        let lines = ["PostgreSQL: \(asSentence(message)) It is retried automatically.", "PostgreSQL continues."]
        #expect(Array(rig.log.all.dropFirst()) == lines)
    }

    @Test func `a restart of the database in the middle of a transfer loses nothing`() async throws {
        let server = try await PostgresServer("restart")
        let database = try await TestDatabase(on: server)
        let rig = try await GatewayRig(database.gateway())
        try rig.drink(10)
        try await rig.publisher.send()
        try rig.drink(200, every: 3)
        let lock = try await RowLock(database)
        rig.start()
        #expect(try await lock.hasWaiting())
        try await server.stop(SIGQUIT)
        _ = try await rig.problem()
        try await server.restart()
        #expect(try await rig.isComplete(in: database))
        await rig.stop()
    }

    /// The primary confirms a commit when the standby has it. The address names both hosts.
    @Test func `a gateway continues at the standby after a failover`() async throws {
        let primary = try await PostgresServer("primary", options: "-c synchronous_standby_names='*'")
        // Without a standby, commits of the setup would wait.
        let standby = try await PostgresServer("standby", standbyOf: primary)
        let database = try await TestDatabase(on: primary)
        var plan = try await database.gateway()
        plan.url = plan.url.replacing("host=\(primary.socket)", with: "host=\(primary.socket),\(standby.socket)")
        let rig = try GatewayRig(plan)
        let keys = try rig.drink(50)
        rig.start()
        #expect(try await rig.isComplete(in: database))
        try await primary.stop(SIGQUIT)
        try rig.drink(5, every: 1)
        _ = try rig.tracker.delete(keys[0])
        // The first error can be that of the lost connection.
        #expect(
            try await eventually(within: 60) {
                try rig.store.publisherErrors().contains { $0.message.contains("read-only") }
            })
        try await standby.run("SELECT pg_promote(true, 20)")
        let after = TestDatabase(database.name, on: standby)
        #expect(try await rig.isComplete(in: after))
        await rig.stop()
    }

    @Test func `a transfer fails if the host accepts the connection and does not respond`() async throws {
        let folder = try TemporaryFolder()
        let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        let isListening = withUnixAddress(folder.file(".s.PGSQL.5432")) {
            bind(socket, $0, $1) == 0 && listen(socket, 5) == 0
        }
        #expect(isListening)
        let rig = try GatewayRig(PostgresPlan(url: "postgresql://a:b@/water?host=\(folder.path)"))
        await #expect { try await rig.publisher.send() } throws: { "\($0)".contains("timeout expired") }
    }

    @Test func `a transfer that waits for the database ends when the service stops`() async throws {
        try rig.drink(10)
        let lock = try await RowLock(database)
        rig.start()
        #expect(try await lock.hasWaiting())
        let start = ContinuousClock.now
        await rig.stop()
        #expect(ContinuousClock.now - start < .seconds(10))
        try await lock.release()
        #expect(try rig.store.publisherErrors().isEmpty)
        try await rig.publisher.send()
        #expect(try await rig.days(in: database) == rig.days())
    }

}

@Suite struct PostgresPlanTests {
    @Test func `an address must be a connection URI with a database`() throws {
        for url in ["db.example", "postgresql://db.example", "mysql://h/d", "postgresql://h/%zz"] {
            #expect(throws: WrongInput.self, "\(url)") { try PostgresPlan(url: url) }
        }
        let plan = try PostgresPlan(url: "postgresql://anna:secret@a,b:5433/water?sslmode=require")
        #expect("\(plan)" == "water on a,b as anna")
        #expect(plan.url(role: "ben", password: "p") == "postgresql://ben:p@a,b:5433/water?sslmode=require")
    }

    @Test(arguments: [
        ("postgresql://h/d?user=admin&password=secret&sslmode=require", "postgresql://anna:pw@h/d?sslmode=require"),
        ("postgres://admin:secret@h:5433/d", "postgres://anna:pw@h:5433/d"),
        ("postgresql:///d?host=/run/p&ssl%6Bey=/root/key", "postgresql://anna:pw@/d?host=/run/p"),
    ]) func `a URL for another role contains no administrator credentials`(address: String, expected: String)
        throws
    {
        #expect(try PostgresPlan(url: address).url(role: "anna", password: "pw") == expected)
    }

    @Test func `address and password are read from files`() throws {
        let folder = try TemporaryFolder()
        try Data("postgresql://anna@h/d\n".utf8).write(to: folder.url("url"))
        try Data("secret\n".utf8).write(to: folder.url("password"))
        let plan = try #require(
            try PostgresPlan(["url-file": folder.file("url"), "password-file": folder.file("password")]))
        #expect(plan.url == "postgresql://anna@h/d")
        #expect(plan.password == "secret")
        #expect(!"\(plan)".contains("secret"))
        #expect(try PostgresPlan([:]) == nil)
        #expect(throws: WrongInput.self) { try PostgresPlan(["password": "x"]) }
    }

    @Test func `a role name is rejected if it has other characters or a reserved prefix`() {
        for name in ["", "Anna", "pg_x", "waterh_x", "a b", "a\"b", "1a"] {
            #expect(throws: WrongInput.self, "\(name)") { try PostgresSchema.checkName(name) }
        }
    }
}

extension TestDatabase {
    init(_ name: String, on server: PostgresServer) { (self.name, self.server) = (name, server) }
}

/// A lock that makes transfers wait until it is released.
struct RowLock: Sendable {
    private let connection = PostgresConnection()
    private let database: TestDatabase

    /// - Parameter table: the gateways' rows, which a transfer writes last.
    init(_ database: TestDatabase, table: String = "waterh.gateway") async throws {
        self.database = database
        try await connection.open(database.plan)
        try await connection.run("BEGIN; LOCK TABLE \(table) IN EXCLUSIVE MODE")
    }

    /// Waits until a transfer waits for the lock.
    func hasWaiting() async throws -> Bool {
        try await eventually(within: 60) {
            try await database.value(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()")
                == "1"
        }
    }

    func release() async throws { try await connection.run("COMMIT") }
}
