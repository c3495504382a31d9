import Foundation
import Store
import Support
import Testing

@testable import PostgreSQL

/// The built programs with a real PostgreSQL.
@Suite struct PostgresServiceTests {
    /// - Parameter table: the lines of `[postgres]`; `nil` for a configuration without it.
    private static func configure(_ rig: GatewayRig, _ table: String?) throws -> String {
        let text = """
            link = "unix:\(rig.folder.file("none.sock"))"
            store = "\(rig.store.path)"
            listen = "off"
            \(table.map { "[postgres]\n\($0)" } ?? "")
            """
        try Data(text.utf8).write(to: rig.folder.url("waterh.toml"))
        return rig.folder.file("waterh.toml")
    }

    private static func run(_ program: String, _ arguments: String...) async throws -> Program.Result {
        try await Program(program).run(arguments)
    }

    /// Kills the service while the database waits with an entry, or with the last statement before the commit.
    @Test(arguments: ["waterh.journal", "waterh.gateway"])
    func `a service that is killed in the middle of a transfer loses and doubles nothing`(_ table: String) async throws
    {
        let database = try await TestDatabase()
        let plan = try await database.gateway()
        let rig = try GatewayRig(plan)
        try rig.drink(50, every: 3)
        try await rig.publisher.send()
        try rig.drink(300, every: 1)
        let configuration = try Self.configure(rig, "url = \"\(plan.url)\"")
        let lock = try await RowLock(database, table: table)
        let service = try Program("waterh-gateway").start(["run", "--config", configuration])
        #expect(try await lock.hasWaiting(), "\(service.error)")
        try await service.stop(SIGKILL)
        try await lock.release()

        let next = try Program("waterh-gateway").start(["run", "--config", configuration])
        #expect(try await rig.isComplete(in: database), "\(next.error)")
        #expect(try await database.value("SELECT count(*) FROM waterh.journal") == "350")
        let doctor = try await Self.run("waterh-gateway", "doctor", "--config", configuration)
        #expect(doctor.output.contains("ok   postgres: \(database.name) on"), "\(doctor.output)")
        let end = try await next.stop(limit: 30)
        #expect(end.exitCode == 0 && !end.error.contains("PostgreSQL:"), "\(end.error)")
    }

    @Test func `log, status and doctor show an error until it ends`() async throws {
        let database = try await TestDatabase()
        let plan = try await database.gateway()
        let rig = try GatewayRig(plan)
        try rig.drink(3)
        try Data("wrong\n".utf8).write(to: rig.folder.url("password"))
        let configuration = try Self.configure(
            rig, "url = \"\(plan.url)\"\npassword-file = \"\(rig.folder.file("password"))\"")
        let service = try Program("waterh-gateway").start(["run", "--config", configuration])
        #expect(await eventually(within: 60) { service.error.contains("PostgreSQL: ") }, "\(service.error)")
        #expect(service.error.contains("Check the role in url and the password"), "\(service.error)")
        #expect(service.error.contains("It is retried automatically."), "\(service.error)")
        let status = try await Self.run("waterh-tracker", "status", "--config", configuration)
        #expect(status.output.contains("PostgreSQL: "), "\(status.output)")
        #expect(status.output.contains("3 drinks wait."), "\(status.output)")
        let doctor = try await Self.run("waterh-gateway", "doctor", "--config", configuration)
        #expect(doctor.output.contains("BAD  postgres: "), "\(doctor.output)")
        // The service reads its configuration when it starts.
        try await database.run("ALTER ROLE \(rig.role) PASSWORD 'wrong'")
        #expect(await eventually(within: 60) { service.error.contains("PostgreSQL continues.") }, "\(service.error)")
        #expect(try await rig.isComplete(in: database))
        #expect(try await eventually(within: 60) { try rig.store.publisherErrors().isEmpty })
        try await service.stop(limit: 30)
    }

    @Test func `a service without the table records no changes`() async throws {
        let database = try await TestDatabase()
        let rig = try await GatewayRig(database.gateway())
        #expect(try rig.store.isPublisherOpen("postgres"))
        let service = try Program("waterh-gateway").start(["run", "--config", Self.configure(rig, nil)])
        #expect(try await eventually(within: 60) { try !rig.store.isPublisherOpen("postgres") }, "\(service.error)")
        try await service.stop(limit: 30)
    }

    @Test func `init creates the schema and roles, and updates them when it runs again`() async throws {
        let database = try await TestDatabase(hasSchema: false)
        let (url, anna, grafana) = (try database.plan.url, TestDatabase.unusedName(), TestDatabase.unusedName())
        for _ in 1...2 {
            let result = try await Self.run(
                "waterh-gateway", "postgres", "init", url, "--gateway", anna, "--person", "Anna", "--viewer", grafana)
            #expect(result.exitCode == 0, "\(result.error)")
            #expect(result.output.hasPrefix("The schema waterh is ready (version 1)."), "\(result.output)")
            for name in [anna, grafana] {
                let match = try #require(result.output.firstMatch(of: try Regex("postgresql://\(name):[^\"\\n]+")))
                let connection = PostgresConnection()
                try await connection.open(PostgresPlan(url: String(result.output[match.range])))
                #expect(try await connection.run("SELECT current_user") == [[name]])
            }
        }
        try await database.run("UPDATE waterh.schema SET version = 2")
        let newer = try await Self.run("waterh-gateway", "postgres", "init", url)
        #expect(newer.exitCode == 1 && newer.error.contains("Update the gateway."), "\(newer.error)")
        let wrong = try await Self.run("waterh-gateway", "postgres", "init", url, "--gateway", "Anna B")
        #expect(wrong.exitCode != 0 && wrong.error.contains("invalid name Anna B"), "\(wrong.error)")
    }
}
