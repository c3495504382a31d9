import FleetStore
import Foundation
import Outgoing
import Store
import Support
import Testing
import TrackerCore

@testable import FleetSurface
@testable import FleetWire

/// Debian's nginx with the configuration that ships, before two servers.
@Suite(
    "A fleet behind a load balancer",
    .enabled(
        if: PostgreSQL.isInstalled && Program(system: "nginx") != nil,
        "PostgreSQL 15 or nginx is not installed: apt-get install postgresql-15 nginx-light"))
struct FleetBalancerTests {
    static let nginx = Program(system: "nginx")

    /// nginx at a port of its own, before those servers.
    private static func balance(_ servers: [String], _ folder: TemporaryFolder) async throws -> (
        program: RunningProgram, url: String
    ) {
        var site = try String(
            contentsOfFile: Program.repository + "/hardware/units/waterh-fleet-nginx.conf", encoding: .utf8)
        let port = try Broker.freePort()
        func change(_ before: String, _ after: String) {
            #expect(site.components(separatedBy: before).count == 2, "the configuration has no \(before), or two")
            site = site.replacing(before, with: after)
        }
        change("    server 127.0.0.1:8090", "    server \(servers[0])")
        change("    server 127.0.0.1:8091", "    server \(servers[1])")
        change("listen 443 ssl http2;", "listen 127.0.0.1:\(port);")
        // TLS is tried before a gateway's page; here it would say nothing.
        site = site.split(separator: "\n", omittingEmptySubsequences: false).filter {
            !$0.contains("ssl_") && !$0.contains("[::]:443")
        }.joined(separator: "\n")
        let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder.file($0));" }
            .joined(separator: " ")
        try Data(
            """
            \(geteuid() == 0 ? "user root;" : "") daemon off; master_process off; pid \(folder.file("pid")); error_log \
            \(folder.file("error"));
            events {}
            http { access_log off; \(places)
            \(site) }
            """.utf8
        ).write(to: folder.url("nginx.conf"))
        let program = try #require(nginx).start(["-c", folder.file("nginx.conf"), "-e", folder.file("error")])
        let url = "http://127.0.0.1:\(port)"
        let answers = await event(within: 20) {
            try? await FleetServeTests.get(url + "/healthz", nil).status == 200 ? true : nil
        }
        #expect(
            answers == true,
            "\(program.error) \((try? String(contentsOfFile: folder.file("error"), encoding: .utf8)) ?? "")")
        return (program, url)
    }

    private static func place(_ url: String) -> String { String(url.dropFirst("http://".count)) }

    /// A gateway drinks and tells while one server is killed, and the other one is stopped for a newer one.
    @Test func anOutboxDrainsWhileOneServerIsKilledAndTheOtherIsUpgraded() async throws {
        let fleet = try await FleetServeTests.Fleet()
        let credential = try await fleet.credential("ward-1"), reader = try await fleet.credential("desk", "--reader")
        var servers = [try await fleet.serve(), try await fleet.serve()]
        let folder = try TemporaryFolder()
        let (balancer, url) = try await Self.balance(servers.map { Self.place($0.url) }, folder)
        try Data("\(credential)\n".utf8).write(to: folder.url("token"))
        let store = try TrackerStore(path: folder.file("w.sqlite"), hostZone: "UTC")
        let plan = FleetPlan(url: url, tokenFile: folder.file("token"))
        let outlet = FleetOutlet(
            .init(
                store: store, person: "ward-1", plan: { plan }, home: { nil }, makeID: { UUID().uuidString },
                say: { _ in }, chance: { 0 }, limit: .seconds(10)))
        outlet.prepare()
        let running = Task { await outlet.run() }
        let now = Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
        var drunk = 0
        func drink() async throws {
            for _ in 0..<3 {
                drunk += 1
                _ = try store.logDrink(
                    ml: 10,
                    WriteContext(now: now, zone: .utc, source: "cli", makeID: { UUID().uuidString.lowercased() }))
            }
            await outlet.poke()
        }
        func isTold() async throws {
            let isTold = try await event(within: 60) { try store.waiting(for: FleetOutlet.name) == 0 ? true : nil }
            #expect(isTold == true, "\(balancer.error)")
        }
        func again(_ number: Int) async throws {
            servers[number] = try await fleet.serve("--listen", Self.place(servers[number].url))
        }
        for round in 0..<8 {
            try await drink()
            if round == 2 { servers[0].program.send(signal: SIGKILL) }
            if round == 4 {
                _ = try await servers[0].program.finish()
                try await again(0)
            }
            if round == 5 {
                servers[1].program.send(signal: SIGTERM)
                try await drink()
                #expect(try await servers[1].program.finish().exitCode == 0)
                try await again(1)
            }
            try await isTold()
        }
        // Whoever watches hears it over nginx, as soon as it is there.
        let watcher = try Program(path: "/usr/bin/curl").start([
            "-sN", "-H", "Authorization: Bearer \(reader)", url + "/v1/events",
        ])
        _ = try await watcher.line { $0 == "retry: 2000" }
        try await drink()
        _ = try await watcher.line { $0 == #"data: {"people":["ward-1"]}"# }
        try await isTold()
        let there = try #require(try FleetStore(FleetConnection(fleet.words)).days(of: "ward-1"))
        #expect(
            there.reduce(0) { $0 + $1.drinks } == drunk && there.reduce(0) { $0 + $1.ml } == 10 * drunk,
            "\(there), \(drunk) were drunk")
        running.cancel()
        await running.value
        watcher.send(signal: SIGTERM)
        for server in servers { server.program.send(signal: SIGTERM) }
        for server in servers { #expect(try await server.program.finish().exitCode == 0) }
        // With nobody behind it the gateway is told so, and keeps what it has.
        #expect(
            try await FleetServeTests.post(url, credential, FleetLines.bytes([FleetEntryTests.entry(person: nil)]))
                .status == 502)
        balancer.send(signal: SIGTERM)
        _ = try await balancer.finish()
    }

    @Test func whatAServerAnswersGoesThroughAsItIs() async throws {
        let fleet = try await FleetServeTests.Fleet()
        let gateway = try await fleet.credential("ward-1", "--anybody")
        let servers = [try await fleet.serve("--batches", "1"), try await fleet.serve("--batches", "1")]
        let (balancer, url) = try await Self.balance(servers.map { Self.place($0.url) }, try TemporaryFolder())
        let batch = try FleetLines.bytes([FleetEntryTests.entry()])
        // Both servers have one place, and three batches come: one of them has to come again.
        let other = try FleetConnection(fleet.words)
        try other.script("BEGIN; SELECT 1 FROM gateway WHERE name = 'ward-1' FOR UPDATE")
        try await withThrowingTaskGroup(of: OutgoingAnswer.self) { group in
            for _ in 0..<3 { group.addTask { try await FleetServeTests.post(url, gateway, batch) } }
            let busy = try #require(try await group.next())
            #expect(busy.status == 429 && FleetServeTests.code(busy) == "busy" && busy.header("Retry-After") == "1")
            try other.script("COMMIT")
            for try await answer in group { #expect(answer.status == 200 || answer.status == 429) }
        }
        #expect(try FleetStore(other).days(of: "anna")?.map(\.drinks) == [1])
        let long = try await FleetServeTests.post(url, gateway, Array(repeating: 10, count: FleetLines.byteLimit + 1))
        #expect(long.status == 413)
        let nobody = try await FleetServeTests.post(url, "wf_x", batch)
        #expect(nobody.status == 401 && FleetServeTests.code(nobody) == "unknownCredential")
        for program in servers.map(\.program) + [balancer] { program.send(signal: SIGTERM) }
        for program in servers.map(\.program) + [balancer] { #expect(try await program.finish().exitCode == 0) }
    }
}
