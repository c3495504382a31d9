import Foundation
import Support
import Testing

@Suite struct ServicePageTests {
    /// A service with an emulator and a port of its own.
    private struct Served {
        let pair: Pair
        let service: RunningProgram
        let store: String
        let page: String
        let environment: [String: String]
        /// Arguments of curl with a token for all endpoints.
        let signedIn: [String]

        /// - Parameter name: the store's file name in the folder, if it differs from the default.
        init(_ more: [String] = [], store name: String? = nil) async throws {
            pair = try await Pair()
            store = name.map(pair.folder.file) ?? pair.store
            // Short, because a socket path has at most 107 bytes.
            environment = [
                "XDG_RUNTIME_DIR": pair.folder.path, "TMPDIR": pair.folder.path, "DBUS_SESSION_BUS_ADDRESS": "",
            ]
            service = try Program("waterh-gateway").start(
                ["run", "--link", pair.socket, "--store", store, "--listen", "127.0.0.1:0", "--verbose"] + more,
                environment: environment)
            let running = service
            let line = try #require(
                await event {
                    running.error.split(separator: "\n").first { $0.contains("The page is at http://") }.map(
                        String.init)
                }, "\(running.error)")
            page = try #require(line.firstMatch(of: /http:\/\/[0-9.:]+\//).map { String($0.0) })
            signedIn = try await Pair.signedIn(store, environment: environment)
        }

        func curl(_ path: String, _ arguments: [String] = []) async throws -> (status: Int, body: String) {
            let result = try await Program(path: "/usr/bin/curl").run(
                ["-sS", "--max-time", "20", "-w", "\n%{http_code}", page + path] + arguments
                    + (arguments.contains { $0.hasPrefix("Authorization:") } ? [] : signedIn))
            let lines = result.output.split(separator: "\n", omittingEmptySubsequences: false)
            return (Int(lines.last ?? "") ?? 0, lines.dropLast().joined(separator: "\n"))
        }

        func gateway(_ arguments: [String]) async throws -> Program.Result {
            try await Program("waterh-gateway").run(arguments + ["--store", pair.store], environment: environment)
        }

        func total() async throws -> Int? {
            let body = try await curl("api/v1/state").body
            return (try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any])?["dailyTotalMl"] as? Int
        }
    }

    @Test(arguments: ["file", "folder", "folder above"])
    func `a service acknowledges nothing and is unhealthy when its store file is replaced`(what: String) async throws {
        let served = try await Served(store: "h/d/s.sqlite")
        let folder = served.pair.folder
        func log(_ ml: Int) async throws {
            let logged = try await Program("waterh-tracker").run(["log", "\(ml)", "--store", served.store])
            #expect(logged.exitCode == 0, "\(logged.error)")
        }
        try await log(100)
        let copy = try await Program("waterh-tracker").run(["backup", folder.file("copy"), "--store", served.store])
        #expect(copy.exitCode == 0, "\(copy.error)")
        try await log(50)
        #expect(try await event { try await served.total() == 150 ? true : nil } == true, "\(served.service.error)")
        let files = FileManager.default
        let moved = what == "file" ? "h/d/s.sqlite" : what == "folder" ? "h/d" : "h"
        try files.moveItem(atPath: folder.file(moved), toPath: folder.file("away"))
        #expect(
            try await event { try await served.curl("api/v1/state").status == 500 ? true : nil } == true,
            "\(served.service.error)")
        #expect(try await served.curl("readyz").status == 500)
        try files.createDirectory(atPath: folder.file("h/d"), withIntermediateDirectories: true)
        try files.moveItem(atPath: folder.file("copy"), toPath: served.store)
        try await served.pair.sip(250)
        let nudge = try await Program("waterh-gateway").run(
            ["nudge", "--store", served.store], environment: served.environment)
        #expect(
            nudge.exitCode == 1 && nudge.error.contains("Store file missing or replaced (\(served.store))"),
            "\(nudge.error)")
        #expect(try await served.curl("readyz").status == 500)
        served.service.send(signal: SIGTERM)
        #expect(try await served.service.finish().exitCode == 0)
        // A new process uses the current file and reads the drink that is still in the bottle.
        let poll = try await Program("waterh-gateway").run(
            ["poll", "--link", served.pair.socket, "--store", served.store])
        #expect(poll.exitCode == 0, "\(poll.error)")
        let status = try await Program("waterh-tracker").run(["status", "--json", "--store", served.store])
        #expect(status.output.contains("\"dailyTotalMl\":350"), "\(status.output)")
    }

    @Test func `restore changes nothing while a service uses the store`() async throws {
        let served = try await Served()
        let backup = served.pair.folder.file("backup")
        func tracker(_ words: [String]) async throws -> Program.Result {
            try await Program("waterh-tracker").run(words + ["--store", served.store], environment: served.environment)
        }
        #expect(try await tracker(["backup", backup]).exitCode == 0)
        #expect(try await tracker(["log", "100"]).exitCode == 0)
        let refused = try await tracker(["restore", backup, "--yes"])
        #expect(refused.exitCode == 3 && refused.error.contains("systemctl stop waterh-gateway"), "\(refused.error)")
        #expect(try await served.total() == 100)
        served.service.send(signal: SIGTERM)
        #expect(try await served.service.finish().exitCode == 0)
        #expect(try await tracker(["restore", backup, "--yes"]).exitCode == 0)
    }

    @Test func `a drink is on the page after nudge`() async throws {
        let served = try await Served()
        _ = await event { served.service.error.contains("Next poll") ? true : nil }
        try await served.pair.sip(250)
        let nudge = try await served.gateway(["nudge"])
        #expect(nudge.exitCode == 0 && nudge.output == "The service polls now.\n", "\(nudge.error)")
        #expect(try await event { try await served.total() == 250 ? true : nil } == true, "\(served.service.error)")
        // A drink counts with its commit. The poll that read it ends a moment later.
        #expect(
            try await event { try await served.curl("api/v1/polls").body.contains("\"new\":1") ? true : nil } == true)
        #expect(
            try await event {
                try await served.curl("metrics").body.contains("waterh_records_new_total 1") ? true : nil
            } == true)
        served.service.send(signal: SIGTERM)
        #expect(try await served.service.finish().exitCode == 0)
    }

    /// Former names of a bottle, and released bottles, must not remain in the metrics.
    @Test func `metrics have the names of the known bottles`() async throws {
        let served = try await Served()
        func names() async throws -> [String] {
            try await served.curl("metrics").body.matches(of: /waterh_battery_ratio\{bottle="([^"]*)"\}/).map {
                String($0.1)
            }
        }
        let first = try #require(try await event { try await names().first })
        let renamed = try await Program("waterh-tracker").run(
            ["settings", "set", "bottle.alias", "Desk", "--store", served.pair.store], environment: served.environment)
        #expect(renamed.exitCode == 0, "\(renamed.error)")
        #expect(try await names() == ["Desk"])
        // The user adopts another bottle and releases this one.
        for words in [["adopt", "A4:C1:38:09:09:09"], ["adopt", "--release", first]] {
            let done = try await served.gateway(words)
            #expect(done.exitCode == 0, "\(done.error)")
        }
        #expect(try await event { try await names().isEmpty ? true : nil } == true)
    }

    @Test func `metrics have link, store and outbox`() async throws {
        let served = try await Served()
        func figure(_ name: String) async throws -> Double? {
            try await served.curl("metrics").body.split(separator: "\n").first { $0.hasPrefix(name + " ") }?.split(
                separator: " "
            ).last.flatMap { Double($0) }
        }
        #expect(try await event { try await figure("waterh_link_seconds_total") ?? 0 > 0 ? true : nil } == true)
        let empty = try #require(try await figure("waterh_store_bytes"))
        #expect(empty > 4096)
        #expect(try await figure("waterh_outbox_depth") == 0)
        // No server listens at this address: outgoing entries wait.
        for words in [["settings", "set", "sync.url", "http://127.0.0.1:9/"], ["session", "start"]] {
            let done = try await Program("waterh-tracker").run(
                words + ["--store", served.pair.store], environment: served.environment)
            #expect(done.exitCode == 0, "\(done.error)")
        }
        #expect(try await event { try await figure("waterh_outbox_depth") ?? 0 >= 1 ? true : nil } == true)
    }

    @Test func `a script with an access code logs once across a restart`() async throws {
        let served = try await Served()
        let pair = try await served.gateway(["invite", "--json", "--scope", "log", "--label", "script"])
        let code = try #require(
            pair.output.firstMatch(of: /"code":"([0-9A-Z]{10})"/)?.1, "\(pair.output) \(pair.error)")
        let let_in = try await served.curl(
            "api/v1/sign-in", ["-H", "Content-Type: application/json", "-d", "{\"code\":\"\(code)\",\"token\":true}"])
        let token = try #require(let_in.body.firstMatch(of: /"token":"([a-z0-9_]+)"/)?.1)
        let tap = [
            "-H", "Authorization: Bearer \(token)", "-H", "Idempotency-Key: tap", "-H",
            "Content-Type: application/json", "-d", "{\"ml\":250}",
        ]
        #expect(try await served.curl("api/v1/drinks", tap).status == 201)
        served.service.send(signal: SIGKILL)
        _ = try? await served.service.finish()
        let again = try Program("waterh-gateway").start(
            [
                "run", "--link", served.pair.socket, "--store", served.pair.store, "--listen",
                String(served.page.dropFirst(7).dropLast()),
            ], environment: served.environment)
        defer { again.send(signal: SIGTERM) }
        #expect(try await event { try await served.curl("api/v1/drinks", tap).status == 201 ? true : nil } == true)
        #expect(try await served.total() == 250)
    }

    /// US-008, US-009: a session survives the end of its service. A second start, from any interface, returns the same
    /// session.
    @Test func `a session survives a killed service`() async throws {
        let served = try await Served()
        func start(_ page: String) async throws -> (isNew: Bool?, id: String?) {
            let reply = try await served.curl(
                "api/v1/session",
                ["-H", "Content-Type: application/json", "-d", "{}"])
            let object = try JSONSerialization.jsonObject(with: Data(reply.body.utf8)) as? [String: Any]
            return (object?["started"] as? Bool, (object?["session"] as? [String: Any])?["id"] as? String)
        }
        func tracker(_ words: [String]) async throws -> [String: Any] {
            let result = try await Program("waterh-tracker").run(
                words + ["--json", "--store", served.pair.store], environment: served.environment)
            return try #require(
                try JSONSerialization.jsonObject(with: Data(result.outputBytes)) as? [String: Any], "\(result.error)")
        }
        let first = try await start(served.page)
        let id = try #require(first.id)
        #expect(first.isNew == true)
        served.service.send(signal: SIGKILL)
        _ = try? await served.service.finish()
        #expect((try await tracker(["status"])["waterline"] as? [String: Any])?["sessionId"] as? String == id)
        let byCommand = try await tracker(["session", "start"])
        #expect(
            byCommand["started"] as? Bool == false && (byCommand["session"] as? [String: Any])?["id"] as? String == id)
        let again = try Program("waterh-gateway").start(
            [
                "run", "--link", served.pair.socket, "--store", served.pair.store, "--listen",
                String(served.page.dropFirst(7).dropLast()),
            ], environment: served.environment)
        defer { again.send(signal: SIGTERM) }
        let byPage = try #require(await event { try? await start(served.page) })
        #expect(byPage.isNew == false && byPage.id == id)
        #expect((try await tracker(["session", "end", "--yes"]))["isActive"] as? Bool == false)
        #expect(
            await event(within: 2) {
                (try? await served.curl("api/v1/state").body.contains("\"waterline\":null")) == true ? true : nil
            } == true)
    }

    /// B9-12: either the service or `check` sends each reminder. At 14:00 with nothing drunk, one is due.
    @Test(arguments: [true, false]) func `service and check send a reminder once`(pageFirst: Bool) async throws {
        let served = try await Served()
        let hour = Calendar(identifier: .gregorian).dateComponents(in: .gmt, from: Date()).hour ?? 0
        let offset = (14 - hour + 36) % 24 - 12
        let zone = offset == 0 ? "Etc/UTC" : "Etc/GMT\(offset > 0 ? "-" : "+")\(abs(offset))"
        func tracker(_ words: String) async throws -> String {
            let result = try await Program("waterh-tracker").run(
                words.split(separator: " ").map(String.init) + ["--store", served.pair.store],
                environment: served.environment)
            #expect(result.exitCode == 0, "\(result.error)")
            return result.output
        }
        _ = await event { served.service.error.contains("Next poll") ? true : nil }
        _ = try await tracker("settings set bottle.hold never day.zone \(zone)")
        _ = try await tracker("setup --yes")
        func open() throws -> RunningProgram {
            try Program(path: "/usr/bin/curl").start([
                "-sS", "-N", "--max-time", "60", served.signedIn[0], served.signedIn[1],
                served.page + "api/v1/events?shows=notifications&looks=no&fields=dailyTotalMl",
            ])
        }
        func notices(_ page: RunningProgram) -> Int { page.output.matches(of: /event: notify/).count }
        if pageFirst {
            // An open page receives due reminders at once, not at the next minute.
            let page = try open()
            #expect(
                await event(within: 15) { notices(page) == 1 ? true : nil } == true,
                "\(page.output)\(served.service.error)")
            for _ in 0..<2 { #expect(try await tracker("check --show").hasPrefix("Nothing to tell")) }
            #expect(notices(page) == 1)
            page.send(signal: SIGTERM)
        } else {
            #expect(try await tracker("check --show").hasPrefix("Hydration Reminder"))
            let page = try open()
            _ = try await tracker("log 10")
            #expect(await event { page.output.contains("\"dailyTotalMl\":10") ? true : nil } == true, "\(page.output)")
            #expect(try await tracker("check --show").hasPrefix("Nothing to tell"))
            #expect(notices(page) == 0)
            page.send(signal: SIGTERM)
        }
        let status = try await Program("waterh-tracker").run(
            ["status", "--json", "--store", served.pair.store], environment: served.environment)
        #expect(status.output.contains("\"remindersSent\":1"), "\(status.output)")
    }

    @Test func `two services on one address keep running and report it`() async throws {
        let served = try await Served()
        let other = try await Pair()
        let second = try Program("waterh-gateway").start(
            [
                "run", "--link", other.socket, "--store", other.store, "--listen",
                String(served.page.dropFirst(7).dropLast()),
            ],
            environment: ["XDG_RUNTIME_DIR": other.folder.path, "TMPDIR": other.folder.path])
        defer { second.send(signal: SIGTERM) }
        #expect(await event { second.error.contains("The page cannot be shown") ? true : nil } == true)
        try await other.sip(100)
        #expect(try await served.curl("healthz").status == 200)
        served.service.send(signal: SIGTERM)
        #expect(try await served.service.finish().exitCode == 0)
    }

    @Test func `a second service does not replace the first one's socket`() async throws {
        let served = try await Served()
        let second = try Program("waterh-gateway").start(
            ["run", "--link", served.pair.socket, "--store", served.pair.store, "--listen", "off"],
            environment: served.environment)
        #expect(
            await event { second.error.contains("another service listens there") ? true : nil } == true,
            "\(second.error)")
        #expect(try await second.stop(limit: 60).exitCode == 0)
        let nudge = try await served.gateway(["nudge"])
        #expect(nudge.exitCode == 0, "\(nudge.error)")
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
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(isBound == 0)
        func file() throws -> UInt64? {
            (try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? NSNumber)?.uint64Value
        }
        let before = try file()
        let second = try Program("waterh-gateway").start(
            [
                "run", "--link", "unix:" + folder.file("b.sock"), "--store", folder.file("w.sqlite"), "--listen",
                "unix:" + path,
            ], environment: ["XDG_RUNTIME_DIR": folder.path])
        #expect(
            await event { second.error.contains("another service listens there") ? true : nil } == true,
            "\(second.error)")
        #expect(try await second.stop(limit: 60).exitCode == 0)
        #expect(try before != nil && file() == before)
    }

    @Test func `a command reaches the bottle through the service`() async throws {
        let served = try await Served()
        let reply = try await served.curl(
            "api/v1/bottle/commands",
            [
                "-H", "Content-Type: application/json", "-d",
                #"{"command":"goal","arguments":["2000"]}"#,
            ])
        #expect(reply.status == 200 && reply.body.contains("goal"), "\(reply)")
    }

    @Test(arguments: ["8077", "localhost:99999", "::1:8077", "unix:relative"]) func `an invalid --listen is rejected`(
        place: String
    ) async throws {
        let result = try await Program("waterh-gateway").run(["run", "--listen", place, "--store", "/nowhere/x.sqlite"])
        #expect(result.exitCode == 2 && result.error.contains("no place for the page"), "\(result.error)")
    }

    @Test func `commands without a service print how to start it`() async throws {
        let folder = try TemporaryFolder()
        for verb in ["nudge", "invite", "open"] {
            let result = try await Program("waterh-gateway").run(
                [verb, "--store", folder.file("w.sqlite")], environment: ["XDG_RUNTIME_DIR": folder.path])
            #expect(result.exitCode == 1 && result.error.contains("Start it with: waterh-gateway"), "\(result.error)")
        }
    }
}
