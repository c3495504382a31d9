import Foundation
import Support
import Testing

/// A service with an emulator and a page of its own.
private struct PageService {
    let pair: Pair
    let service: RunningProgram
    let page: String
    /// Arguments of curl with a token for all endpoints.
    let signedIn: [String]
    var store: String { pair.store }

    /// - Parameter settings: names and values that are set before the start.
    init(settings: String? = nil) async throws {
        pair = try await Pair()
        if let settings { try await pair.tracker("settings set \(settings)") }
        service = try pair.serve("--listen 127.0.0.1:0 --verbose")
        page = try await service.page()
        signedIn = try await Pair.signedIn(pair.store)
    }

    /// A client of the event stream until it is deallocated.
    func events(_ query: String) throws -> RunningProgram {
        try Program.curl.start(
            ["-sS", "-N", "--max-time", "120"] + signedIn + ["\(page)api/v1/events?\(query)"])
    }

    func isConnected() throws -> Bool { try pair.status()["connected"] as? Bool == true }

    func curl(_ path: String, _ arguments: [String] = []) async throws -> (status: Int, body: String) {
        let result = try await Program.curl.run(
            ["-sS", "--max-time", "20", "-w", "\n%{http_code}", page + path] + arguments
                + (arguments.contains { $0.hasPrefix("Authorization:") } ? [] : signedIn))
        let lines = result.output.split(separator: "\n", omittingEmptySubsequences: false)
        return (Int(lines.last ?? "") ?? 0, lines.dropLast().joined(separator: "\n"))
    }

    func post(_ path: String, _ body: String, _ arguments: [String] = []) async throws -> (
        status: Int, body: String
    ) { try await curl("api/v1/" + path, ["-H", "Content-Type: application/json", "-d", body] + arguments) }

    /// Runs `waterh-tracker` on the store, whatever its exit code.
    func tracker(_ line: String) async throws -> Program.Result {
        try await Program.tracker.run("\(line) --store \(store)")
    }

    func total() async throws -> Int? {
        try await curl("api/v1/state").body.jsonObject?["dailyTotalMl"] as? Int
    }
}

@Suite struct ServicePageTests {
    @Test func `a service acknowledges nothing and is unhealthy when its store file is replaced`() async throws {
        let pageService = try await PageService()
        let (folder, files) = (pageService.pair.folder, FileManager.default)
        for line in ["log 100", "backup \(folder.file("copy"))", "log 50"] {
            let result = try await pageService.tracker(line)
            #expect(result.exitCode == 0, "\(line): \(result.error)")
        }
        #expect(try await eventually { try await pageService.total() == 150 }, "\(pageService.service.error)")
        try files.moveItem(atPath: pageService.store, toPath: folder.file("away"))
        #expect(
            try await eventually { try await pageService.curl("api/v1/state").status == 500 },
            "\(pageService.service.error)")
        let unready = try await pageService.curl("readyz")
        #expect(unready.status == 500 && unready.body.contains("storeWasRemoved"), "\(unready)")
        #expect(try await pageService.curl("healthz").status == 200)
        try files.moveItem(atPath: folder.file("copy"), toPath: pageService.store)
        try await pageService.pair.sip(250)
        let nudge = try await Program.gateway.run("nudge --store \(pageService.store)")
        nudge.expect(1, error: "Store file missing or replaced (\(pageService.store))")
        #expect(try await pageService.curl("readyz").status == 500)
        try await pageService.service.stop()
        // A new process uses the current file and reads the drink that is still in the bottle.
        try await Program.gateway.succeed("poll --link \(pageService.pair.socket) --store \(pageService.store)")
        let status = try await pageService.tracker("status --json").output
        #expect(status.contains("\"dailyTotalMl\":350"), "\(status)")
    }

    @Test func `restore changes nothing while a service uses the store`() async throws {
        let pageService = try await PageService()
        let restore = "restore \(pageService.pair.folder.file("backup")) --yes"
        #expect(try await pageService.tracker("backup \(pageService.pair.folder.file("backup"))").exitCode == 0)
        #expect(try await pageService.tracker("log 100").exitCode == 0)
        let refused = try await pageService.tracker(restore)
        refused.expect(3, error: "systemctl stop waterh-gateway")
        #expect(try await pageService.total() == 100)
        try await pageService.service.stop()
        #expect(try await pageService.tracker(restore).exitCode == 0)
    }

    @Test func `page and metrics contain a drink after nudge`() async throws {
        let pageService = try await PageService()
        await pageService.service.says("Next poll")
        try await pageService.pair.sip(250)
        let nudge = try await Program.gateway.succeed("nudge --store \(pageService.store)")
        #expect(nudge.output == "The service polls now.\n")
        #expect(try await eventually { try await pageService.total() == 250 }, "\(pageService.service.error)")
        let invitation = try await Program.gateway.succeed("invite --store \(pageService.store)").output
        let port = try #require(URL(string: pageService.page)?.port)
        #expect(invitation.contains("listen = \"0.0.0.0:\(port)\" in waterh.toml"), "\(invitation)")
        // A drink counts with its commit. The poll that read it ends a moment later.
        #expect(try await eventually { try await pageService.curl("api/v1/polls").body.contains("\"new\":1") })
        #expect(
            try await eventually { try await pageService.curl("metrics").body.contains("waterh_records_new_total 1") })

        func metric(_ name: String) async throws -> Double? {
            let line = try await pageService.curl("metrics").body.split(separator: "\n").first {
                $0.hasPrefix(name + " ")
            }
            return line?.split(separator: " ").last.flatMap { Double($0) }
        }
        #expect(try await eventually { try await metric("waterh_link_seconds_total") ?? 0 > 0 })
        #expect(try #require(try await metric("waterh_store_bytes")) > 4096)
        #expect(try await metric("waterh_outbox_depth") == 0)
        // No server listens at this address: outgoing entries wait.
        for line in ["settings set sync.url http://127.0.0.1:9/", "session start"] {
            #expect(try await pageService.tracker(line).exitCode == 0)
        }
        #expect(try await eventually { try await metric("waterh_outbox_depth") ?? 0 >= 1 })

        // Former names of a bottle, and released bottles, must not remain.
        func names() async throws -> [String] {
            try await pageService.curl("metrics").body.matches(of: /waterh_battery_ratio\{bottle="([^"]*)"\}/).map {
                String($0.1)
            }
        }
        let first = try #require(try await event { try await names().first })
        #expect(try await pageService.tracker("settings set bottle.alias Desk").exitCode == 0)
        #expect(try await names() == ["Desk"])
        // The user adopts another bottle and releases this one.
        for line in ["adopt A4:C1:38:09:09:09", "adopt --release \(first)"] {
            try await Program.gateway.succeed("\(line) --store \(pageService.store)")
        }
        #expect(try await eventually { try await names().isEmpty })
        try await pageService.service.stop()
    }

    @Test func `a second service reports that the address or the socket is in use, and keeps running`() async throws {
        let (pageService, other) = (try await PageService(), try await Pair())
        let address = pageService.page.dropFirst("http://".count).dropLast()
        let second = try other.serve("--listen \(address)")
        await second.says("Serving at http")
        let third = try pageService.pair.serve("--listen off")
        await third.says("another service listens there")
        try await other.sip(100)
        #expect(try await pageService.curl("healthz").status == 200)
        for service in [second, third] { try await service.stop() }
        try await Program.gateway.succeed("nudge --store \(pageService.store)")
        try await pageService.service.stop()
    }

    /// A second service that starts at the same time must not remove the socket that the first one has bound but does
    /// not listen on yet.
    @Test func `a starting service keeps its socket`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("w.sock")
        let lock = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { for descriptor in [lock, socket] { close(descriptor) } }
        try #require(flock(lock, LOCK_EX | LOCK_NB) == 0)
        try #require(withUnixAddress(path) { bind(socket, $0, $1) } == 0)
        func file() throws -> UInt64? {
            (try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? NSNumber)?.uint64Value
        }
        let before = try file()
        let second = try Program.gateway.start(
            "run --link unix:\(folder.file("b.sock")) --store \(folder.file("w.sqlite")) --listen unix:\(path)")
        await second.says("another service listens there")
        try await second.stop()
        #expect(try before != nil && file() == before)
    }

    @Test func `commands without a service print how to start it`() async throws {
        let folder = try TemporaryFolder()
        for line in ["nudge", "invite", "open"] {
            let result = try await Program.gateway.run("\(line) --store \(folder.file("w.sqlite"))")
            result.expect(1, error: "Start it with: waterh-gateway")
        }
    }
}

/// HoldTests has the exact times, also of draft bottles, which send no notifications.
@Suite struct HoldCommandTests {
    @Test func `drinks and commands use the connection that a viewer keeps open`() async throws {
        let pageService = try await PageService()
        let (pair, service) = (pageService.pair, pageService.service)
        let stream = try pageService.events("fields=dailyTotalMl,service")
        #expect(await eventually { stream.output.contains(#""stage":"connected""#) }, "\(service.error)")
        #expect(try pageService.isConnected())
        for total in [250, 500] {
            let start = ContinuousClock.now
            try await pair.sip(250)
            #expect(await eventually { stream.output.contains("\"dailyTotalMl\":\(total)") }, "\(service.error)")
            #expect(ContinuousClock.now - start < .seconds(10))
        }
        let reply = try await pageService.post("bottle/commands", #"{"command":"goal","arguments":["1900"]}"#)
        #expect(reply.body.contains("1900"), "\(reply.body)")
        #expect(try pageService.isConnected())
        // The bottle disconnects, and the service reconnects.
        try pair.ask("drop")
        try await pair.sip(120)
        #expect(await eventually(within: 40) { stream.output.contains("\"dailyTotalMl\":620") }, "\(service.error)")
        try await service.stop()
        #expect(try !pageService.isConnected())
        stream.send(signal: SIGTERM)
    }
}

/// Light and screen of the bottle as the emulator reports them, controlled by the running service.
@Suite struct BottleLightCommandTests {
    @Test func `the light follows the day and is written only on a change`() async throws {
        let pair = try await Pair()
        // It is afternoon: with nothing drunk, the day has a deficit.
        try pair.configure("zone = \"\(DueNow.zone(at: 15))\"")
        let config = "--config \(pair.folder.file("waterh.toml"))"
        func tracker(_ line: String) async throws { try await Program.tracker.succeed("\(line) \(config)") }
        func until(_ light: String) async throws -> [String: Any] {
            let isFound = await eventually(within: 30) {
                (try? pair.status()["light"] as? String)?.hasPrefix(light) == true
            }
            let status = try pair.status()
            #expect(isFound, "\(status)")
            return status
        }
        let untouched = try pair.status()["light"] as? String
        let service = try Program.gateway.start("run --listen off \(config)")
        defer { service.send(signal: SIGTERM) }
        await service.says("Adopted:")
        #expect(try pair.status()["light"] as? String == untouched)
        try await tracker("settings set bottle.light true bottle.showGoal true hydration.goalMl 2200")
        service.send(signal: SIGHUP)
        let strong = try await until("breathe, colour E5 39 35")
        // A manual entry below the goal, then one that reaches it.
        try await tracker("log 200")
        #expect((try pair.status()["light"] as? String)?.hasPrefix("breathe") == true)
        try await tracker("log 2000")
        let dark = try await until("blue, colour 00 00 00")
        #expect(dark["goalMl"] as? Int == 2200)
        #expect(try #require(dark["blinks"] as? Int) > #require(strong["blinks"] as? Int))
        let blinks = await event(within: 20) { () async -> Int? in
            guard let status = try? pair.status(), status["amountMl"] as? Int == 2200 else { return nil }
            return status["blinks"] as? Int
        }
        for _ in 0..<3 {
            let connections = try pair.status()["connections"] as? Int
            try await Program.gateway.succeed("nudge \(config)")
            _ = await eventually {
                guard let status = try? pair.status() else { return false }
                return status["connections"] as? Int != connections && status["connected"] as? Bool == false
            }
        }
        #expect(try pair.status()["blinks"] as? Int == blinks)
    }
}
